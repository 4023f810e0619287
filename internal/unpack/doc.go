// Package unpack reads tar archives, and extracts archives into a directory.
//
// A Tar iterates over the members of an archive that is uncompressed or compressed with gzip, bzip2
// or, through the program xz, with xz and lzma. A Folder extracts members. It never writes outside
// of its directory, neither by names such as ../x nor through symbolic links that lead out. Files
// are replaced atomically, so that a running program keeps its old file.
//
// Names are those of the archive, without trailing slashes, as in Python's tarfile.
package unpack

import "errors"

// ErrFormat is wrapped by errors about files that are no tar archives, or have an unknown
// compression.
var ErrFormat = errors.New("file could not be opened successfully")

// ErrNoXZ is returned for archives that need xz if that program does not exist.
var ErrNoXZ = errors.New("the program xz is needed to read the archive")

// ErrOutside is wrapped by errors about members that would be written outside of the directory.
var ErrOutside = errors.New("member would be written outside of the directory")

// maxMembers is the limit of listed members of one archive.
const maxMembers = 4 << 20
