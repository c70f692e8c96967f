// grbm classify: the classes of data by a model with labels.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "grbm/data/classes.h"
#include "grbm/model/visible_law.h"
#include "numbers.h"
#include "output.h"
#include "streams.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string model;
  DataArguments data;
  Index count = 0;
  std::string out;
};

// How the classes that were told compare with the data's own.
struct Judgement {
  Index right = 0;
  double log_probability = 0;           // mean over rows, of the row's own class
  BasicMatrix<std::int64_t> confusion;  // rows of each class that were told to be of each
};

Judgement Judge(const BasicMatrix<double>& logs, std::span<const Index> truth) {
  Judgement judgement{0, 0, BasicMatrix<std::int64_t>(logs.cols(), logs.cols())};
  for (Index r = 0; r < logs.rows(); ++r) {
    const Index own = truth[static_cast<std::size_t>(r)];
    const Index told = std::ranges::max_element(logs.row(r)) - logs.row(r).begin();
    judgement.right += told == own ? 1 : 0;
    judgement.log_probability += logs(r, own) / static_cast<double>(logs.rows());
    ++judgement.confusion(own, told);
  }
  return judgement;
}

// A line for each class of the data, a column for each that was told.
void PrintConfusion(const BasicMatrix<std::int64_t>& confusion, std::span<const std::string> classes) {
  std::size_t width = 5;
  for (const std::string& name : classes) width = std::max(width, name.size());
  Print("\n{:{}}", "", width);
  for (const std::string& name : classes) Print(" {:>{}}", name, width);
  Print("\n");
  for (Index own = 0; own < confusion.rows(); ++own) {
    Print("{:>{}}", classes[static_cast<std::size_t>(own)], width);
    for (const std::int64_t count : confusion.row(own)) Print(" {:>{}}", count, width);
    Print("\n");
  }
}

int Classify(const Arguments& a, const Common& common) {
  if (!a.out.empty()) {
    CheckOutput(a.out, {".csv", ".npy"});
    CheckApart(a.out, {a.model, a.data.source});
  }
  const ModelFile file = OpenModel(a.model, {}, {.labels = true});
  if (file.classes.empty()) {
    throw ConfigError(fmt::format("{}: the model has no labels: train one with model.labels=true", a.model));
  }
  const DataRows rows = ReadRows(file, a.data, a.count);
  if (rows.labels.empty() && a.out.empty()) {
    throw ConfigError(
        fmt::format("{}: no labels to compare with: give -o FILE for the classes' probabilities, or name "
                    "the labels with --label",
                    a.data.source));
  }
  ThreadPool pool(common.threads);
  const BasicMatrix<double> logs = ClassesOf(file.law(), rows.values, pool);
  if (!a.out.empty()) {
    Matrix probabilities(logs.rows(), logs.cols());
    std::ranges::transform(logs.values(), probabilities.values().begin(),
                           [](double l) { return static_cast<float>(std::exp(l)); });
    WriteRows(a.out, probabilities, file.classes);
  }
  Results results = {{"rows", std::int64_t{logs.rows()}}};
  if (!a.out.empty()) results.emplace_back("probabilities", a.out);
  if (rows.labels.empty()) {
    PrintResults(Beside(common, a.out), results);
    return 0;
  }
  const std::vector<Index> truth = ClassNumbers(rows.labels, rows.names, file.classes, a.data.source);
  const Judgement judgement = Judge(logs, truth);
  const double accuracy = static_cast<double>(judgement.right) / static_cast<double>(logs.rows());
  const Common beside = Beside(common, a.out);
  if (beside.json) {
    nlohmann::ordered_json object = {{"rows", logs.rows()},
                                     {"accuracy", accuracy},
                                     {"mean_log_probability", judgement.log_probability},
                                     {"classes", file.classes}};
    for (Index own = 0; own < logs.cols(); ++own) object["confusion"].push_back(judgement.confusion.row(own));
    if (!a.out.empty()) object["probabilities"] = a.out;
    Print("{}\n", JsonText(object));
    return 0;
  }
  results.emplace_back("accuracy", Measure{accuracy, "of the rows"});
  results.emplace_back("mean_log_probability", Measure{judgement.log_probability, "nats"});
  PrintResults(beside, results);
  if (!beside.quiet) PrintConfusion(judgement.confusion, file.classes);
  return 0;
}

}  // namespace

void AddClassify(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("classify", "Say of which class rows are, by a model with labels");
  const auto a = std::make_shared<Arguments>();
  command.AddOption("MODEL", a->model, "A model file, or a run's folder").Required();
  AddData(command, a->data);
  AddNumber<Index>(command, "-n,--count", a->count, "How many rows, from the first on; 0: all", 0, 100'000'000);
  command.AddOption(
      "-o,--out", a->out,
      "The probability of each class, row by row: a table (.csv, or - for standard output) or an array (.npy)");
  AddThreads(command, common.threads);
  command.SetFooter("Example: grbm classify run/model.safetensors --data mnist");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Classify(*a, common); }; });
}

}  // namespace grbm::app
