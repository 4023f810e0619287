package render

import (
	"fmt"
	"os"
	"time"
)

// young is how long a file must be unchanged before its times in the file system are trusted to
// reveal its next change: within this time, two changes may get the same time.
const young = 3 * time.Second

// VersionOf returns a name for the content of a file as far as the file system reveals it. It is ""
// while that is uncertain: in the first three seconds after a change. Resetting the modification
// time is detected if the system has a time of change, as Linux does.
func VersionOf(st os.FileInfo, now time.Time) string {
	changed, at := identity(st)
	if st.ModTime().After(changed) {
		changed = st.ModTime()
	}
	if now.Sub(changed) < young {
		return ""
	}
	return fmt.Sprintf("%x.%x.%x.%s", st.ModTime().UnixNano(), changed.UnixNano(), st.Size(), at)
}
