package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

const attributeSize = 64 << 10 // Linux's limit for one value, and for a list of names

// keepAttributes copies the extended attributes of the file at path to f, including access lists.
// Attributes about the content (capabilities, measurements) are not copied.
func keepAttributes(f *os.File, path string) error {
	for _, name := range attributeNames(path) {
		switch name {
		case "security.capability", "security.ima", "security.evm":
			continue
		}
		value := make([]byte, attributeSize)
		n, err := syscall.Getxattr(path, name, value)
		if err != nil {
			continue // it was removed, or is not readable
		}
		err = syscall.Setxattr(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), name, value[:n], 0)
		if err != nil && !errors.Is(err, syscall.ENOTSUP) &&
			(strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.")) {
			return fmt.Errorf("keep extended attribute %s of %s: %w", name, path, err)
		}
	}
	return nil
}

func attributeNames(path string) []string {
	list := make([]byte, attributeSize)
	n, err := syscall.Listxattr(path, list)
	if err != nil || n == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00")
}
