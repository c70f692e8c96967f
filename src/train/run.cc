#include "grbm/train/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "core/number.h"
#include "evaluate/common.h"
#include "grbm/core/file.h"
#include "grbm/data/fingerprint.h"
#include "grbm/evaluate/samples.h"
#include "grbm/report/samples.h"
#include "grbm/store/model_file.h"
#include "grbm/train/checkpoint.h"
#include "grbm/train/data_trainer.h"
#include "train/early_stop.h"
#include "train/metrics_file.h"
#include "train/run_folder.h"
#include "train/watch.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

// Of each picture: images, or points of the plane.
constexpr Index kPictureImages = 64;
constexpr Index kPicturePoints = 256;

Index PictureRows(const ModelFile& file) { return file.image_shape.known() ? kPictureImages : kPicturePoints; }

// After which updates a picture is drawn: `count` of them, or fewer in short runs, evenly on a logarithmic scale; the last
// is the last of the run.
std::set<std::uint64_t> PictureUpdates(std::uint64_t total, std::int64_t count) {
  std::set<std::uint64_t> updates;
  for (std::int64_t k = 1; k <= count; ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(count);
    const double update = std::round(std::pow(static_cast<double>(total), share));
    updates.insert(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(update), 1, total));
  }
  return updates;
}

// Pictures of updates that a resumed run has yet to make.
void RemoveLaterPictures(const std::string& folder, std::uint64_t updates) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto update = NumberIn<std::uint64_t>(entry.path().stem().string());
    if (update && *update > updates) fs::remove(entry.path(), error);
  }
}

// A run at work in its folder.
class Run {
 public:
  Run(const RunRequest& request, ThreadPool& pool, RunObserver& observer, Ranks& ranks);

  // To the end, to the pause, or until the observer says stop; true at the end.
  bool Train();

 private:
  std::optional<ModelFile> Init() const;
  void LoadHeldOutRows();
  void CheckHeldOut(const Dataset& held_out) const;
  void CheckData();
  void RemoveLater();
  void OpenFiles();
  void ReadState();

  // What comes after an update, the same on all ranks.
  struct Decision {
    bool save = false;
    bool stop = false;
    bool ended = false;
  };
  Decision Decide(std::uint64_t update);
  // What rank 0 alone knows: whether it is told to stop, and whether it is time for a checkpoint, as a sum of these.
  static constexpr int kStop = 1;
  static constexpr int kSave = 2;
  int Wishes() const;
  bool EndedEarly() const;
  LogSchedule Schedule() const;
  ModelFile File() const;
  void Log(const UpdateMetrics& metrics, const LogSchedule& schedule);
  void Save();
  void WriteDataPicture() const;
  void WritePicture(std::uint64_t update) const;
  bool Paused() const { return request_.pause_after > 0 && trainer_.updates() >= request_.pause_after; }
  void Speak();

  using Clock = std::chrono::steady_clock;

  const RunRequest request_;
  const Config& config_ = request_.config;
  ThreadPool& pool_;
  RunObserver& observer_;
  Ranks& ranks_;
  const bool writes_ = ranks_.rank() == 0;  // no other rank touches the folder
  const std::string init_;                  // contents of the model file to start from
  DataTrainer data_trainer_;
  const Dataset& data_ = data_trainer_.data();
  Trainer& trainer_ = data_trainer_.trainer();
  std::optional<Dataset> held_out_;
  std::optional<Curves> curves_;
  std::optional<EarlyStop> early_;
  std::optional<RunOrigin> origin_;
  std::unique_ptr<FolderLock> lock_;
  std::optional<MetricsFile> metrics_file_;
  std::optional<TimesFile> times_file_;
  Watch watch_;
  std::vector<std::string> words_;  // of the last update: where the next one diverges, the error says more
  Clock::time_point saved_;
};

Run::Run(const RunRequest& request, ThreadPool& pool, RunObserver& observer, Ranks& ranks)
    : request_(request),
      pool_(pool),
      observer_(observer),
      ranks_(ranks),
      init_(FromFirst(ranks, [&] { return InitContents(request_); })),
      data_trainer_(config_, LoadDataset(config_.data, pool), request_.seed, pool, {}, {}, Init(), &ranks),
      watch_(config_.model, config_.sampler) {
  if (writes_) {
    if (!data_.warning().empty()) observer_.OnWarning(data_.warning());
    LoadHeldOutRows();
    origin_ = OriginOf(request_, data_, held_out_ ? &*held_out_ : nullptr, init_);
    lock_ = OpenFolder(request_, data_, *origin_, init_, pool_.threads(), observer_);
    origin_->earlier = EarlierSettings(request_.folder);
  }
  CheckData();
  ReadState();
  trainer_.set_ask([this] { return static_cast<double>(Wishes()); });
  if (writes_) {
    RemoveLater();
    OpenFiles();
    // The model is that of the checkpoint, also where a kill came between the two.
    if (trainer_.updates() > 0) WriteModel(ModelPath(request_.folder), File());
  }
}

// All ranks must have the same data, settings and seed.
void Run::CheckData() {
  if (ranks_.count() == 1) return;
  const std::string own = fmt::format("{}, seed {}, {}", Fingerprint(data_), request_.seed, ConfigText(config_));
  if (own != FromFirst(ranks_, [&] { return own; })) {
    throw DataError(fmt::format("rank {} has other data or settings than rank 0: {} must be the same files for all",
                                ranks_.rank(), config_.data.source));
  }
}

// From the newest checkpoint, where there is one.
void Run::ReadState() {
  std::optional<TrainState> state;
  const std::string checkpoints = CheckpointFolder(request_.folder);
  if (writes_) {
    const auto warn = [&](const std::string& text) { observer_.OnWarning(text); };
    state = ReadNewestCheckpoint(checkpoints, *origin_, IsOldRun(request_.folder), warn);
  }
  if (ranks_.count() > 1) {
    const std::string contents = FromFirst(
        ranks_, [&] { return state ? ReadFile(checkpoints + "/" + CheckpointName(state->updates)) : std::string(); });
    if (!writes_ && !contents.empty()) state = ParseCheckpoint(contents, checkpoints).state;
  }
  if (state) {
    if (early_) early_->set_best(std::move(state->best));
    trainer_.Restore(std::move(*state));
  } else if (writes_ && Exists(ModelPath(request_.folder))) {  // written after a checkpoint
    throw DataError(fmt::format(
        "{}: the checkpoints of this run are gone: put one back, or start again with another --out", checkpoints));
  }
}

std::optional<ModelFile> Run::Init() const {
  if (init_.empty()) return {};
  return ParseModel(init_, request_.init.empty() ? InitPath(request_.folder) : request_.init);
}

void Run::LoadHeldOutRows() {
  const bool curves = config_.evaluate.every_steps > 0;
  const bool early = config_.train.stop_after > 0;
  const bool other = !config_.data.held_out.empty() && !HeldOutShare(config_.data);
  if (!curves && !early && !other) return;
  if (data_.conditions() > 0 && (curves || early)) {
    throw ConfigError(fmt::format("{}: not with conditions (data.condition, data.history): set it to 0",
                                  early ? "train: stop_after" : "evaluate: every_steps"));
  }
  held_out_ = LoadHeldOut(config_.data, pool_);
  if (other) CheckHeldOut(*held_out_);
  if (!curves && !early) {
    held_out_.reset();
    return;
  }
  const DataStatistics& statistics = data_trainer_.statistics();
  if (curves) curves_.emplace(config_.evaluate, data_, held_out_, statistics.standardization, request_.seed, pool_);
  if (early) early_.emplace(config_.train, held_out_, statistics, request_.seed, pool_);
}

// That other data could be held out, before hours are spent.
void Run::CheckHeldOut(const Dataset& held_out) const {
  if (held_out.visible() != data_.visible() || held_out.conditions() != data_.conditions()) {
    throw DataError(
        fmt::format("{}: rows of {} values and {} conditions: as held-out data they must have {} and {}, as {} has",
                    held_out.source(), held_out.visible(), held_out.conditions(), data_.visible(), data_.conditions(),
                    data_.source()));
  }
  held_out.CheckNames(data_.names().columns, data_.names().conditions, data_.source());
}

LogSchedule Run::Schedule() const {
  return MakeLogSchedule(config_, static_cast<std::uint64_t>(data_.rows()), trainer_.total_updates());
}

// The model as it is; where the run may stop early, the best so far.
ModelFile Run::File() const {
  ModelFile file = data_trainer_.File();
  if (!early_ || !early_->best()) return file;
  file.model = Model(early_->best()->parameters, config_.model.variance_floor, file.model.label_units());
  file.provenance["updates"] = std::to_string(early_->best()->updates);
  return file;
}

// As rank 0 says.
bool Run::EndedEarly() const {
  const auto ended = [&] { return early_ && early_->Ended(trainer_.updates(), Schedule().stop_every) ? "y" : "n"; };
  return config_.train.stop_after > 0 && FromFirst(ranks_, [&] { return std::string(ended()); }) == "y";
}

// What was left of later updates, and of writes that were cut off.
void Run::RemoveLater() {
  const std::string& folder = request_.folder;
  const std::string checkpoints = CheckpointFolder(folder);
  PruneCheckpoints(checkpoints, config_.checkpoint.keep);
  RemoveLeftovers(checkpoints);
  RemoveLeftovers(folder);
  RemoveLeftovers(PictureFolder(folder));
  RemoveLaterPictures(PictureFolder(folder), trainer_.updates());
}

// Those that go on after each update; their lines of later updates are cut.
void Run::OpenFiles() {
  const std::string& folder = request_.folder;
  metrics_file_.emplace(MetricsPath(folder), trainer_.updates(), Schedule(), !origin_->earlier.empty(), observer_);
  times_file_.emplace(TimesPath(folder), trainer_.updates());
  if (config_.checkpoint.pictures > 0) {
    MakeFolder(PictureFolder(folder));
    WriteDataPicture();
  }
}

// With several ranks, all come here: each has some of the chains.
void Run::Save() {
  TrainState state = trainer_.State();
  if (!writes_) return;
  if (early_) state.best = early_->best();
  const std::string checkpoints = CheckpointFolder(request_.folder);
  const std::string path = checkpoints + "/" + CheckpointName(trainer_.updates());
  times_file_->Note(trainer_.updates());
  metrics_file_->Sync();  // what is before a checkpoint is not made again
  WriteCheckpoint(path, state, *origin_);
  WriteModel(ModelPath(request_.folder), File());
  PruneCheckpoints(checkpoints, config_.checkpoint.keep);
  observer_.OnCheckpoint(path);
  saved_ = Clock::now();
}

// As many rows as a picture of samples has, to be held beside it.
void Run::WriteDataPicture() const {
  const std::string path = DataPicturePath(request_.folder);
  const ModelFile file = data_trainer_.File();
  if (!HasPictures(file) || data_.has_gaps() || Exists(path + ".png") || Exists(path + ".json")) return;
  const Picture picture = DrawPicture(file, ReadSome(data_, PictureRows(file), request_.seed));
  WriteFileAtomically(path + picture.ending, picture.contents);
}

// The same chains at every picture, so that they can be followed from one to the next.
void Run::WritePicture(std::uint64_t update) const {
  const ModelFile file = data_trainer_.File();
  if (!ShowsSamples(file)) return;
  const Matrix samples =
      DrawShown(file, PictureRows(file), EvaluationSeed(request_.seed, EvaluationStream::kPictures), pool_);
  const Picture picture = DrawPicture(file, samples);
  WriteFileAtomically(fmt::format("{}/{:012}{}", PictureFolder(request_.folder), update, picture.ending),
                      picture.contents);
}

void Run::Speak() {
  for (const std::string& text : std::exchange(words_, {})) observer_.OnWarning(text);
}

bool Run::Train() {
  const LogSchedule schedule = Schedule();
  const std::set<std::uint64_t> pictures = PictureUpdates(trainer_.total_updates(), config_.checkpoint.pictures);
  observer_.OnStart(trainer_, data_.rows());
  saved_ = Clock::now();
  bool ended = trainer_.done() || EndedEarly();
  if (writes_ && !ended && !Paused()) times_file_->Start(trainer_.updates(), request_.command, pool_.threads());
  while (!ended && !Paused()) {
    const UpdateMetrics metrics = trainer_.Update(schedule.Logs(trainer_.updates() + 1));
    if (writes_) {
      Log(metrics, schedule);
      // Before the checkpoint: what is after one is not made again.
      if (pictures.contains(metrics.update)) WritePicture(metrics.update);
    }
    observer_.OnUpdate(metrics);
    words_ = watch_.See(metrics);
    const Decision decision = Decide(metrics.update);
    ended = decision.ended;
    if (decision.save) Save();
    if (decision.stop) break;
  }
  if (ended && !trainer_.done() && writes_) {
    observer_.OnNote(fmt::format(
        "ended early, after update {} of {}: the model is that of update {}; --resume --set train.stop_after=N goes on",
        trainer_.updates(), trainer_.total_updates(), early_->best()->updates));
  }
  Speak();
  if (writes_) {
    metrics_file_->Close();
    times_file_->Close();
  }
  return ended;
}

void Run::Log(const UpdateMetrics& metrics, const LogSchedule& schedule) {
  Speak();
  if (!schedule.Logs(metrics.update)) return;
  const bool evaluate = curves_ && (schedule.Evaluates(metrics.update) || trainer_.done());
  Values measured = evaluate ? curves_->Measure(data_trainer_.File()) : Values();
  if (early_ && schedule.MayStop(metrics.update)) {
    const ModelFile file = data_trainer_.File();
    measured.push_back(early_->Measure(file));
    early_->See(file.model, metrics.update, measured.back().second);
  }
  times_file_->Note(metrics.update);  // first: who sees a line of metrics finds its time
  metrics_file_->Write(MetricsLine(metrics, measured));
}

int Run::Wishes() const {
  const double every = config_.checkpoint.every_seconds;
  const bool save = every > 0 && Clock::now() - saved_ > std::chrono::duration<double>(every);
  return (observer_.ShouldStop() ? kStop : 0) + (save ? kSave : 0);
}

// Of several ranks, the wishes came with the gradient of the update.
Run::Decision Run::Decide(std::uint64_t update) {
  const int wishes = ranks_.count() == 1 ? Wishes() : static_cast<int>(trainer_.answer());
  const std::int64_t every = config_.checkpoint.every_steps;
  Decision decision;
  decision.ended = trainer_.done() || EndedEarly();
  decision.stop = (wishes & kStop) != 0 || Paused();
  decision.save = decision.stop || decision.ended || (wishes & kSave) != 0 ||
                  (every > 0 && update % static_cast<std::uint64_t>(every) == 0);
  return decision;
}

}  // namespace

bool TrainRun(const RunRequest& given, ThreadPool& pool, RunObserver& observer, Ranks& ranks) {
  const RunRequest request = Resolved(given);
  if (ranks.rank() == 0) CheckFolder(request);
  return Run(request, pool, observer, ranks).Train();
}

}  // namespace grbm
