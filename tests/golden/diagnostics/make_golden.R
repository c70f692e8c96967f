# Expected values of the convergence diagnostics, by R's `posterior` (Vehtari et al. 2021).
#   Rscript make_golden.R > golden.json
# The tests read golden.json and need no R. Draws are chains × draws with the digits that give back
# the same double; NA is null, and numbers that JSON does not know are strings.

set.seed(20211)

normal <- function(chains, draws) matrix(rnorm(chains * draws), chains)

# x_t = rho x_{t-1} + sqrt(1 - rho²) e_t, stationary with variance 1.
ar1 <- function(chains, draws, rho) {
  x <- normal(chains, draws)
  for (t in seq_len(draws)[-1]) x[, t] <- rho * x[, t - 1] + sqrt(1 - rho^2) * x[, t]
  x
}

with_value <- function(x, chain, draw, value) {
  x[chain, draw] <- value
  x
}

# Rounded to 8 digits to keep the file small; "full-precision" and "large-offset" are not.
brief <- function(x) signif(x, 8)

cases <- list(
  "full-precision" = normal(4, 100),
  "iid" = brief(normal(4, 250)),
  "iid-exponential" = brief(matrix(rexp(4 * 100), 4)),
  "ar1-0.5" = brief(ar1(4, 250, 0.5)),
  "ar1-0.95" = brief(ar1(4, 250, 0.95)),
  "antithetic-0.6" = brief(ar1(4, 200, -0.6)),
  "antithetic-0.97-capped" = brief(ar1(4, 100, -0.97)),
  "different-means" = brief(normal(4, 100) + c(-6, -2, 2, 6)),
  "slightly-different-means" = brief(ar1(4, 100, 0.3) + c(-0.3, 0, 0, 0.3)),
  "different-scales" = brief(normal(4, 100) * c(0.1, 1, 1, 5)),
  "trend" = brief(normal(2, 100) + rep(seq(-1, 1, length.out = 100), each = 2)),
  "cauchy" = brief(matrix(rcauchy(4 * 200), 4)),
  "large-offset" = round(1e6 + ar1(4, 100, 0.7), 6),
  "small-scale" = brief(1e-9 * ar1(2, 100, 0.7)),
  "ties-poisson" = matrix(rpois(4 * 150, 3), 4),
  "ties-half-integers" = round(2 * ar1(3, 120, 0.8)) / 2,
  "ties-binary" = matrix(rbinom(4 * 100, 1, 0.4), 4),
  "odd-draws" = brief(ar1(3, 101, 0.6)),
  "odd-chains-odd-draws" = brief(ar1(5, 77, -0.3)),
  "one-chain" = brief(ar1(1, 200, 0.7)),
  "one-chain-odd" = brief(ar1(1, 63, 0.2)),
  "two-chains" = brief(ar1(2, 151, 0.9)),
  "many-short-chains" = brief(ar1(20, 20, 0.4)),
  "1-draw" = brief(normal(3, 1)),
  "one-chain-2-draws" = brief(normal(1, 2)),
  "4-draws" = brief(normal(3, 4)),
  "5-draws" = brief(normal(3, 5)),
  "6-draws" = brief(normal(3, 6)),
  "7-draws" = brief(normal(3, 7)),
  "9-draws" = brief(normal(3, 9)),
  "11-draws" = brief(normal(3, 11)),
  "12-draws" = brief(normal(3, 12)),
  "14-draws" = brief(ar1(3, 14, 0.9)),
  "constant" = matrix(3.7, 4, 20),
  "constant-chains" = matrix(c(1, 2, 3.7), 3, 20),
  "one-chain-stuck" = brief(with_value(normal(4, 50), 2, 1:50, 0.1)),
  "alternating" = matrix(c(-1, 1), 4, 20, byrow = TRUE),
  "range-below-epsilon" = brief(1e-20 * normal(2, 20)),
  "nan" = brief(with_value(normal(4, 20), 2, 3, NaN)),
  "infinite" = brief(with_value(normal(4, 20), 2, 3, Inf)),
  "both-infinities" = brief(with_value(with_value(normal(4, 21), 2, 3, Inf), 1, 7, -Inf)),
  "infinite-median" = brief(with_value(normal(2, 20), 1:2, 6:20, Inf))
)

number <- function(x) {
  text <- ifelse(is.nan(x), '"NaN"', ifelse(is.na(x), "null", ifelse(x > 0, '"Inf"', '"-Inf"')))
  finite <- is.finite(x)
  short <- sprintf("%.15g", x[finite])
  text[finite] <- ifelse(as.numeric(short) == x[finite], short, sprintf("%.17g", x[finite]))
  stopifnot(all(as.numeric(text[finite]) == x[finite]))
  text
}

# posterior wants draws × chains. It rounds the chain means of large-offset to 1e-10, which shows in
# the tenth digit of its ESS; less the offset (exact in doubles) they keep all digits.
expected <- function(name) {
  x <- t(cases[[name]])
  if (name == "large-offset") x <- x - 1e6
  values <- suppressWarnings(c(  # warns when it caps an ESS
    rhat = posterior::rhat(x), ess_bulk = posterior::ess_bulk(x),
    ess_tail = posterior::ess_tail(x)[[1]], ess_mean = posterior::ess_mean(x)
  ))
  values[is.nan(values)] <- NA
  # Chains that never move have R-hat = Inf; their rounded variances make it a number near 1e16.
  values[!is.na(values) & values > 1e12] <- Inf
  paste0("\"", names(values), "\": ", number(values), collapse = ", ")
}

chain <- function(x) paste0("[", paste0(number(x), collapse = ","), "]")
entry <- function(name) {
  paste0("{\"name\": \"", name, "\",\n  \"expected\": {", expected(name),
         "},\n  \"draws\": [\n    ",
         paste0(apply(cases[[name]], 1, chain, simplify = FALSE), collapse = ",\n    "), "\n  ]}")
}

p <- c(1e-300, 1e-100, 1e-30, 1e-16, 1e-12, 1e-10, 1.3e-11, 1.4e-11, 1e-8, 1e-6, 1e-4, 0.001, 0.01,
       0.025, 0.05, 0.0749, 0.0751, 0.1, 0.2, 0.25, 0.3, 0.4, 0.49, 0.499999, 0.5, 0.500001, 0.6,
       0.75, 0.9, 0.9249, 0.9251, 0.95, 0.99, 0.9999, 0.999999, 1 - 1e-9, 1 - 2^-52)
cat("{\"posterior\": \"", as.character(packageVersion("posterior")), "\", \"R\": \"",
    as.character(getRversion()), "\",\n\"normal_quantile\": {\n  \"p\": ", chain(p),
    ",\n  \"z\": ", chain(qnorm(p)), "},\n\"cases\": [\n",
    paste0(vapply(names(cases), entry, ""), collapse = ",\n"), "\n]}\n", sep = "")
