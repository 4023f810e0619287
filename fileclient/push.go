package fileclient

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/brineproject/brine/data"
)

// defaultPiece is the default of file_buffer_size in Salt's minion.
const defaultPiece = 256 << 10

// Push sends a file of the minion to its master, which stores it under the path parts if its option
// file_recv allows that. It reports whether the master accepted all of it. Pieces have size bytes;
// 0 means 256 KiB. They are sent one after the other, as a master appends each to the end
// (salt/modules/cp.py, push).
func Push(
	ctx context.Context, request Request, file string, parts []string, size int,
) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	names := make([]any, len(parts))
	for i, p := range parts {
		names[i] = p
	}
	if size <= 0 {
		size = defaultPiece
	}
	piece := make([]byte, min(int64(size), max(info.Size(), 1)))
	for loc := int64(0); ; {
		n, err := io.ReadFull(f, piece)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		if n == 0 && loc > 0 {
			return true, nil
		}
		taken, err := request(ctx, data.NewMap("cmd", "_file_recv", "path", names,
			"size", info.Size(), "loc", loc, "data", piece[:n]))
		if err != nil || !data.Truth(taken) {
			return false, err
		}
		if loc += int64(n); n == 0 {
			return true, nil
		}
	}
}
