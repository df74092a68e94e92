#include "runtime_env/zip_writer.h"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fray::runtime_env {

namespace {

constexpr std::uint32_t kLocalHeader = 0x04034B50;
constexpr std::uint32_t kCentralHeader = 0x02014B50;
constexpr std::uint32_t kEnd = 0x06054B50;
constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kMadeByUnix = (3 << 8) | kVersion;
constexpr std::uint16_t kNamesAreUtf8 = 1 << 11;
constexpr std::uint32_t kFirstDate = (1 << 5) | 1;  // 1 January 1980, so that equal files give equal archives
constexpr std::size_t kChecksumOffset = 14;
constexpr std::size_t kFileChunk = 256 << 10;

class Little {
 public:
  Little& u16(std::uint32_t value) { return put(value, 2); }
  Little& u32(std::uint32_t value) { return put(value, 4); }
  Little& text(std::string_view value) { return bytes_ += value, *this; }
  const std::string& bytes() const { return bytes_; }

 private:
  Little& put(std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xFF);
    return *this;
  }

  std::string bytes_;
};

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
    table[i] = value;
  }
  return table;
}

std::uint32_t crc32(std::uint32_t crc, std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_crc_table();
  crc = ~crc;
  for (char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

}  // namespace

Status ZipWriter::write(std::string_view bytes) {
  if (offset_ + bytes.size() > most_bytes_) {
    return Status(StatusCode::kResourceExhausted, fmt::format("the archive is larger than {} bytes", most_bytes_));
  }
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Status::io_error("cannot write the archive", errno);
    offset_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status::ok();
}

Status ZipWriter::begin(Entry entry) {
  if (entries_.size() == kMostEntries || entry.name.size() > 0xFFFF) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("an archive holds {} files at most, with names of 65535 bytes at most", kMostEntries));
  }
  entry.offset = static_cast<std::uint32_t>(offset_);
  Little header;
  header.u32(kLocalHeader).u16(kVersion).u16(kNamesAreUtf8).u16(0).u16(0).u16(kFirstDate).u32(0).u32(0).u32(0);
  header.u16(static_cast<std::uint32_t>(entry.name.size())).u16(0).text(entry.name);
  entries_.push_back(std::move(entry));
  return write(header.bytes());
}

Status ZipWriter::add_folder(const std::string& name) { return begin({name + "/", 0, 0, 0, S_IFDIR | 0755}); }

Status ZipWriter::add_file(const std::string& name, int source, bool executable) {
  FRAY_RETURN_IF_ERROR(begin({name, 0, 0, 0, static_cast<std::uint32_t>(S_IFREG | (executable ? 0755 : 0644))}));
  Entry& entry = entries_.back();
  std::string chunk(kFileChunk, '\0');
  while (true) {
    const ssize_t got = ::read(source, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::io_error("cannot read " + name, errno);
    if (got == 0) break;
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
    entry.checksum = crc32(entry.checksum, bytes);
    entry.size += static_cast<std::uint32_t>(got);
    FRAY_RETURN_IF_ERROR(write(bytes));
  }
  Little sums;
  sums.u32(entry.checksum).u32(entry.size).u32(entry.size);
  const std::string& bytes = sums.bytes();
  const off_t at = static_cast<off_t>(entry.offset + kChecksumOffset);
  if (::pwrite(fd_, bytes.data(), bytes.size(), at) != static_cast<ssize_t>(bytes.size())) {
    return Status::io_error("cannot write the archive", errno);
  }
  return Status::ok();
}

Status ZipWriter::finish() {
  const std::uint64_t begin = offset_;
  for (const Entry& entry : entries_) {
    Little header;
    header.u32(kCentralHeader).u16(kMadeByUnix).u16(kVersion).u16(kNamesAreUtf8).u16(0).u16(0).u16(kFirstDate);
    header.u32(entry.checksum).u32(entry.size).u32(entry.size);
    header.u16(static_cast<std::uint32_t>(entry.name.size())).u16(0).u16(0).u16(0).u16(0);
    header.u32(entry.mode << 16).u32(entry.offset).text(entry.name);
    FRAY_RETURN_IF_ERROR(write(header.bytes()));
  }
  const auto count = static_cast<std::uint32_t>(entries_.size());
  Little end;
  end.u32(kEnd).u16(0).u16(0).u16(count).u16(count).u32(static_cast<std::uint32_t>(offset_ - begin));
  end.u32(static_cast<std::uint32_t>(begin)).u16(0);
  return write(end.bytes());
}

}  // namespace fray::runtime_env
