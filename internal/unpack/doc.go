// Package unpack reads tar archives, and puts what archives hold into a directory.
//
// A Tar goes through the members of an archive that is plain or compressed by gzip, bzip2 or, with the help of the program xz, by xz
// and lzma. A Folder takes members: whatever their names say, nothing is written outside of it, neither by names such as ../x nor
// through symbolic links that lead out. Files come to their places as a whole, so that a program that runs keeps its old file.
//
// Names are those of the archive, without slashes at the end, as Python's tarfile has them.
package unpack

import "errors"

// ErrFormat is wrapped by errors about files that are no tar archives, or are compressed in a way that is not known.
var ErrFormat = errors.New("file could not be opened successfully")

// ErrNoXZ is returned for archives that xz is needed for, where there is no such program.
var ErrNoXZ = errors.New("the program xz is needed to read the archive")

// ErrOutside is wrapped by errors about members that would be written outside of the directory.
var ErrOutside = errors.New("member would be written outside of the directory")

// maxMembers bounds how many members are listed of one archive.
const maxMembers = 4 << 20
