package file

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes copies the extended attributes of path to a file, including access lists. It skips
// those that depend on the content (capabilities, measurements).
func copyAttributes(f *os.File, path string) error {
	for _, name := range attributeNames(path) {
		switch name {
		case "security.capability", "security.ima", "security.evm":
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Getxattr(path, name, value)
		if err != nil {
			continue // it is gone, or we may not read it
		}
		err = unix.Fsetxattr(int(f.Fd()), name, value[:n], 0)
		if err != nil && !errors.Is(err, unix.ENOTSUP) &&
			(strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.")) {
			return fmt.Errorf("keep extended attribute %s of %s: %w", name, path, err)
		}
	}
	return nil
}

func attributeNames(path string) []string {
	list := make([]byte, 64<<10)
	n, err := unix.Listxattr(path, list)
	if err != nil || n == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00")
}
