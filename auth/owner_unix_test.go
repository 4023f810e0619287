//go:build unix

package auth

import (
	"io/fs"
	"strconv"
	"syscall"
)

func ownerOf(info fs.FileInfo) string {
	return strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Uid), 10)
}
