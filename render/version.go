package render

import (
	"fmt"
	"os"
	"time"
)

// young is how long a file must have been left alone before the times of the file system are trusted to tell of its next change:
// within it, two changes may have one time.
const young = 3 * time.Second

// VersionOf names the content of a file as far as the file system can tell, "" while it cannot be sure: in the first three seconds after
// a change. Who puts back the time of modification is noticed where the system keeps a time of change, as Linux does.
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
