// grbm report: runs as one HTML file.
#include "grbm/dashboard/report.h"

#include <memory>

#include "grbm/core/file.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"

namespace grbm::app {

namespace {

int Report(const ReportRequest& request, const std::string& out, const Common& common) {
  CheckOutput(out, {".html"});
  ThreadPool pool(common.threads);
  Bars bars(common.quiet || common.json);
  const std::string html =
      MakeReport(request, pool, [&](std::string_view part, Index done, Index total) { bars.Show(part, done, total); });
  WriteFileAtomically(out, html);
  PrintResults(common, {{"report", out},
                        {"runs", static_cast<std::int64_t>(request.runs.size())},
                        {"bytes", static_cast<std::int64_t>(html.size())}});
  return 0;
}

}  // namespace

void AddReport(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("report", "Show a run, or compare runs, in one HTML file");
  const auto request = std::make_shared<ReportRequest>();
  const auto out = std::make_shared<std::string>();
  const auto fast = std::make_shared<bool>();
  command.AddOption("RUN", request->runs, "Folders of runs, finished or not").Required();
  command.AddOption("-o,--out", *out, "The page (.html): one file, which loads nothing else").Required();
  command.AddFlag("--fast", *fast, "Leave out mixing and distances, which read the data");
  AddThreads(command, common.threads);
  AddSeed(command, request->seed);
  command.SetFooter("Example: grbm report runs/mnist runs/mnist-2 -o report.html");
  command.SetCallback([=, &common, &action] {
    action = [=, &common] {
      request->measure = !*fast;
      return Report(*request, *out, common);
    };
  });
}

}  // namespace grbm::app
