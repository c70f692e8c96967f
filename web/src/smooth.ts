// Curves without their noise.

/** The value at each place of the line that fits best within `reach` places on either side; places without a value count
 * as not there. A line stays the line that it is, up to its ends: nothing lags. */
function fitted(y: (number | null)[], reach: number): (number | null)[] {
  // Sums over y[0 ... k): of 1, x, x², y and x y.
  const sums: number[][] = [[0], [0], [0], [0], [0]];
  y.forEach((value, k) => {
    const terms = value === null ? [0, 0, 0, 0, 0] : [1, k, k * k, value, k * value];
    terms.forEach((term, i) => sums[i]!.push(sums[i]![k]! + term));
  });
  return y.map((value, k) => {
    if (value === null) return null;
    const first = Math.max(0, k - reach);
    const end = Math.min(y.length, k + reach + 1);
    const [n, x, xx, s, xs] = sums.map((sum) => sum[end]! - sum[first]!) as [number, number, number, number, number];
    const spread = xx - (x * x) / n;
    const slope = spread > 1e-9 ? (xs - (x * s) / n) / spread : 0;
    return s / n + slope * (k - x / n);
  });
}

/** strength: 0 for none, 1 for a reach of a quarter of all places. Twice, so that single values leave no edges. */
export function smoothed(y: (number | null)[], strength: number): (number | null)[] {
  const reach = Math.round((strength ** 2 * y.length) / 4);
  return reach < 1 ? y : fitted(fitted(y, reach), reach);
}
