#include "store/parallel_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "os/memory/memory_file.h"
#include "store/mapping.h"
#include "store/userfault_fill.h"
#include "store/work_share.h"

namespace fray::store {
namespace {

constexpr std::uint64_t kParallelBytes = 8ull << 20;  // below, starting threads does not pay
constexpr std::uint64_t kMostChunkBytes = 4ull << 20;
constexpr std::uint64_t kLeastChunkBytes = 512ull << 10;
constexpr std::uint64_t kLeastBulkBytes = 64ull << 10;  // below, cold pages are populated one run at a time
constexpr unsigned kMostThreads = 4;

struct Piece {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
};
using Pieces = std::vector<Piece>;

std::uint64_t total_bytes(const Pieces& pieces) {
  std::uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.bytes;
  return total;
}

void copy(const Piece& piece) { std::memcpy(piece.to, piece.from, piece.bytes); }

std::uint64_t address(const std::byte* data) { return reinterpret_cast<std::uintptr_t>(data); }

Result<Pieces> to_pieces(std::span<const CopyPart> parts, const Destination& to) {
  Pieces pieces;
  pieces.reserve(parts.size());
  for (const CopyPart& part : parts) {
    if (!lies_within(part.offset, part.source.size(), to.size)) {
      return Status(StatusCode::kInvalidArgument, "a part of " + std::to_string(part.source.size()) + " bytes at " +
                                                      std::to_string(part.offset) + " does not fit into " +
                                                      std::to_string(to.size));
    }
    if (!part.source.empty()) pieces.push_back({to.data + part.offset, part.source.data(), part.source.size()});
  }
  return pieces;
}

// Cuts pieces small enough that all threads are busy until the end. Cuts are at multiples of the page size.
Pieces cut(const Pieces& pieces, unsigned threads) {
  const std::uint64_t fair_share = total_bytes(pieces) / (8ull * threads);
  const std::uint64_t chunk = os::round_up_to_page(std::clamp(fair_share, kLeastChunkBytes, kMostChunkBytes));
  Pieces chunks;
  for (Piece piece : pieces) {
    for (; piece.bytes > chunk; piece.bytes -= chunk) {
      chunks.push_back({piece.to, piece.from, chunk});
      piece.to += chunk;
      piece.from += chunk;
    }
    chunks.push_back(piece);
  }
  return chunks;
}

Status copy_warm(const Pieces& pieces, unsigned threads) {
  if (threads < 2 || total_bytes(pieces) < kParallelBytes) {
    for (const Piece& piece : pieces) copy(piece);
    return Status::ok();
  }
  const Pieces chunks = cut(pieces, threads);
  return share_work(chunks.size(), threads, [&](std::size_t index, unsigned) {
    copy(chunks[index]);
    return Status::ok();
  });
}

// --- cold memory: whole pages ("bulk") are filled by the kernel, the rest is populated and then copied

struct ColdPieces {
  Pieces bulk;   // whole pages
  Pieces edges;  // the parts that share a page with other data
};

ColdPieces split_at_pages(const Pieces& pieces) {
  ColdPieces split;
  const std::uint64_t page = os::page_bytes();
  for (const Piece& piece : pieces) {
    const std::uint64_t head = std::min((page - address(piece.to) % page) % page, piece.bytes);
    const std::uint64_t body = (piece.bytes - head) / page * page;
    if (body < kLeastBulkBytes) {
      split.edges.push_back(piece);
      continue;
    }
    const std::uint64_t tail = piece.bytes - head - body;
    if (head > 0) split.edges.push_back({piece.to, piece.from, head});
    split.bulk.push_back({piece.to + head, piece.from + head, body});
    if (tail > 0) split.edges.push_back({piece.to + head + body, piece.from + head + body, tail});
  }
  return split;
}

// Neighbouring edges are populated together.
Status copy_edges(Pieces edges) {
  std::sort(edges.begin(), edges.end(), [](const Piece& a, const Piece& b) { return a.to < b.to; });
  const std::uint64_t page = os::page_bytes();
  for (std::size_t i = 0; i < edges.size();) {
    std::byte* const begin = edges[i].to - address(edges[i].to) % page;
    std::byte* end = begin;
    std::size_t next = i;
    while (next < edges.size() && edges[next].to <= end + page) {
      std::byte* const last = edges[next].to + edges[next].bytes;
      end = std::max(end, last + (page - address(last) % page) % page);
      ++next;
    }
    FRAY_RETURN_IF_ERROR(os::memory_files().populate(begin, static_cast<std::uint64_t>(end - begin)));
    for (; i < next; ++i) copy(edges[i]);
  }
  return Status::ok();
}

Status write_to_file(const Piece& piece, const Destination& to) {
  std::uint64_t done = 0;
  while (done < piece.bytes) {
    const auto offset = static_cast<off_t>(static_cast<std::uint64_t>(piece.to - to.data) + done);
    const ssize_t count = ::pwrite(to.descriptor, piece.from + done, piece.bytes - done, offset);
    if (count > 0) {
      done += static_cast<std::uint64_t>(count);
    } else if (count == 0 || errno != EINTR) {
      const int error = count == 0 ? ENOSPC : errno;
      const bool exhausted = error == ENOMEM || error == ENOSPC || error == EFBIG;
      return Status(exhausted ? StatusCode::kResourceExhausted : StatusCode::kIoError,
                    "cannot write shared memory (" + std::to_string(piece.bytes) + " bytes): " + std::strerror(error));
    }
  }
  return Status::ok();
}

Status populate_and_copy(const Piece& piece) {
  FRAY_RETURN_IF_ERROR(os::memory_files().populate(piece.to, piece.bytes));
  copy(piece);
  return Status::ok();
}

Status copy_cold(const Pieces& pieces, const Destination& to, unsigned threads, ColdMethod method) {
  ColdPieces split = split_at_pages(pieces);
  if (!split.bulk.empty()) {
    if (total_bytes(split.bulk) < kParallelBytes) threads = 1;
    const Pieces chunks = cut(split.bulk, threads);
    std::optional<UserfaultFill> fill;
    if (method == ColdMethod::kAutomatic || method == ColdMethod::kUserfault) {
      fill = UserfaultFill::open(to.data, os::round_up_to_page(to.size));
    }
    FRAY_RETURN_IF_ERROR(share_work(chunks.size(), threads, [&](std::size_t index, unsigned thread) {
      const Piece& piece = chunks[index];
      if (fill) return fill->fill(piece.to, piece.from, piece.bytes);
      // One writer only: pwrite holds the file's lock, and a second one would just wait for it.
      if (thread == 0 && to.descriptor >= 0) return write_to_file(piece, to);
      return populate_and_copy(piece);
    }));
  }
  return copy_edges(std::move(split.edges));
}

}  // namespace

unsigned copy_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  return std::clamp(static_cast<unsigned>(CPU_COUNT(&allowed)), 1u, kMostThreads);
}

Status copy_parts(std::span<const CopyPart> parts, const Destination& to, unsigned threads, ColdMethod method) {
  FRAY_ASSIGN_OR_RETURN(const Pieces pieces, to_pieces(parts, to));
  threads = std::max(threads, 1u);
  return to.cold ? copy_cold(pieces, to, threads, method) : copy_warm(pieces, threads);
}

}  // namespace fray::store
