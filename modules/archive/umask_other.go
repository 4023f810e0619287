//go:build !linux

package archive

import "io/fs"

func umask() fs.FileMode { return usualMask }
