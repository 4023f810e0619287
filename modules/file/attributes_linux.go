package file

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes gives a file the extended attributes of the one at path, access lists among them. Those that say something of the
// content (capabilities, measurements) are left behind.
func copyAttributes(f *os.File, path string) error {
	for _, name := range attributeNames(path) {
		switch name {
		case "security.capability", "security.ima", "security.evm":
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Getxattr(path, name, value)
		if err != nil {
			continue // it has gone, or is not for us
		}
		err = unix.Fsetxattr(int(f.Fd()), name, value[:n], 0)
		if err != nil && !errors.Is(err, unix.ENOTSUP) && (strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.")) {
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
