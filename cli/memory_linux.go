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

// unmapRead takes the pages of the program's file that were read so far out of the process: the kernel may use them for
// something else from now on. Until it does it keeps them in its cache, so that a page that is needed again is back at the
// first touch, without a read.
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
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, a.start, a.end-a.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("give back memory from %#x: %w", a.start, errno)
		}
	}
	return nil
}

// An area is a part of the process's memory.
type area struct{ start, end uintptr }

// unchanged returns the areas that hold nothing but what is in the file of this name: not writable, private, and without a
// page of the process's own, in memory or in swap, as a linker at run time or a debugger make them. r is in the form of
// proc_pid_smaps(5); a kernel that does not tell both gives no area.
func unchanged(r io.Reader, name string) ([]area, error) {
	var list []area
	var last area
	found, clean := false, 0 // of the two lines that say so
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

// areaOf reads the first line of an area; ok tells whether it is of the file of this name, and is only read.
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
