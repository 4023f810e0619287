//go:build !linux

package render

import (
	"os"
	"time"
)

// identity returns only the modification time.
func identity(st os.FileInfo) (time.Time, string) { return st.ModTime(), "" }
