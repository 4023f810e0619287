//go:build !linux

package render

import (
	"os"
	"time"
)

// identity returns the time of modification alone.
func identity(st os.FileInfo) (time.Time, string) { return st.ModTime(), "" }
