package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
)

// NotRoot returns which user the program runs as and what to do about it; "" if it runs as root, or
// on a system without such users.
func NotRoot() string {
	id := os.Geteuid()
	if id <= 0 {
		return ""
	}
	name := strconv.Itoa(id)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("this runs as user %s, not as root; run it with sudo, or name a configuration with -c "+
		"whose directories are the user's own", name)
}

// RightsHint returns the text of [NotRoot] in parentheses after a space if err is a missing
// permission; else "".
func RightsHint(err error) string {
	if who := NotRoot(); who != "" && errors.Is(err, fs.ErrPermission) {
		return " (" + who + ")"
	}
	return ""
}
