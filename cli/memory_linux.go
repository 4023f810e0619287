package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapRead removes the pages of the program's file that were read so far from the process, so that
// the kernel can reuse them. Until then the kernel keeps them in its cache, and the next access
// restores a page without a read.
func unmapRead() error {
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program's file: %w", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("list the program's memory: %w", err)
	}
	defer f.Close()
	list, err := unchanged(f, name)
	if err != nil {
		return fmt.Errorf("list the program's memory: %w", err)
	}
	for _, a := range list {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, a.start, a.end-a.start,
			unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("give back memory from %#x: %w", a.start, errno)
		}
	}
	return nil
}

// An area is a part of the process's memory.
type area struct{ start, end uintptr }

// unchanged returns the areas that hold only content of the file of this name: not writable,
// private, and without pages of the process's own in memory or in swap, which a runtime linker or a
// debugger creates. r is in the form of proc_pid_smaps(5). If a kernel does not list both counts,
// no area is returned.
func unchanged(r io.Reader, name string) ([]area, error) {
	var list []area
	var last area
	found, clean := false, 0 // number of the two lines that say so
	for s := bufio.NewScanner(r); ; {
		if !s.Scan() {
			return list, s.Err()
		}
		fields := strings.Fields(s.Text())
		switch {
		case len(fields) > 1 && strings.HasSuffix(fields[0], ":"):
			if (fields[0] == "Anonymous:" || fields[0] == "Swap:") && fields[1] == "0" {
				clean++
			}
			if found && clean == 2 {
				list, found = append(list, last), false
			}
		default:
			last, found = areaOf(s.Text(), name)
			clean = 0
		}
	}
}

// areaOf parses the first line of an area. ok reports whether it maps the file of this name
// read-only.
func areaOf(line, name string) (a area, ok bool) {
	addresses, rest, _ := strings.Cut(line, " ")
	mode, _, _ := strings.Cut(rest, " ")
	if mode != "r-xp" && mode != "r--p" || name == "" || !strings.HasSuffix(line, " "+name) {
		return area{}, false
	}
	low, high, _ := strings.Cut(addresses, "-")
	start, err := strconv.ParseUint(low, 16, strconv.IntSize)
	if err != nil {
		return area{}, false
	}
	end, err := strconv.ParseUint(high, 16, strconv.IntSize)
	if err != nil || start >= end {
		return area{}, false
	}
	return area{uintptr(start), uintptr(end)}, true
}
