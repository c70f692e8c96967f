#include "job.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/number.h"
#include "grbm/core/error.h"

#ifdef GRBM_HAS_MPI
#include <mpi.h>
#endif

namespace grbm::app {

namespace {

// A number that a launcher put into the environment.
std::optional<int> NumberOf(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before threads are started
  return text == nullptr ? std::nullopt : NumberIn<int>(text);
}

// How many processes there are, as Open MPI, MPICH and Slurm say.
int LaunchedProcesses() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const auto count = NumberOf(name)) return *count;
  }
  // Slurm says so of every process of a job, also where no MPI is meant: only with PMIx there is one.
  if (std::getenv("PMIX_RANK") != nullptr)
    return NumberOf("SLURM_NTASKS").value_or(1);  // NOLINT(concurrency-mt-unsafe)
  return 1;
}

#ifdef GRBM_HAS_MPI

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  void Send(int to, std::span<const std::byte> bytes) override {
    ForParts(bytes, [&](std::span<const std::byte> part) {
      MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests_.emplace_back());
    });
  }
  void Receive(int from, std::span<std::byte> bytes) override {
    ForParts(bytes, [&](std::span<std::byte> part) {
      MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from, 0, MPI_COMM_WORLD,
                &requests_.emplace_back());
    });
  }
  void Wait() override {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }
  // Open MPI moves large messages only while it is called.
  void Progress() override {
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
  }

 private:
  // MPI counts in int.
  template <typename Byte, typename Body>
  static void ForParts(std::span<Byte> bytes, const Body& body) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t first = 0; first < bytes.size(); first += kMost) {
      body(bytes.subspan(first, std::min(kMost, bytes.size() - first)));
    }
  }

  int rank_ = 0;
  int count_ = 1;
  std::vector<MPI_Request> requests_;
};

std::unique_ptr<MpiRanks> job;

#endif

}  // namespace

Ranks& JoinJob() {
  const int processes = LaunchedProcesses();
  if (processes <= 1) return OneRank();
#ifdef GRBM_HAS_MPI
  if (!job) job = std::make_unique<MpiRanks>();
  return *job;
#else
  throw ConfigError(
      fmt::format("one of {} processes of an MPI job, but this program was built without MPI: install it (Debian: "
                  "libopenmpi-dev, openmpi-bin), and build again",
                  processes));
#endif
}

int ThreadsOfRank(int asked) {
  if (asked > 0) return asked;
  const int here =
      std::max(1, NumberOf("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(NumberOf("MPI_LOCALNRANKS").value_or(1)));
  if (here == 1) return 0;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / here);
}

void LeaveJob() {
#ifdef GRBM_HAS_MPI
  if (job) MPI_Finalize();
#endif
}

void WaitForFirstRank() {
#ifdef GRBM_HAS_MPI
  if (job && job->rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
#endif
}

void EndJob([[maybe_unused]] int code) {
#ifdef GRBM_HAS_MPI
  if (job) MPI_Abort(MPI_COMM_WORLD, code);
#endif
}

}  // namespace grbm::app
