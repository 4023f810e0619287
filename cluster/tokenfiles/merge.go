package tokenfiles

// A side is what is known of a file in one place.
type side int

const (
	none    side = iota // it is not there
	has                 // it is there, with a sum
	deleted             // the cluster, or the state file, knows that it was deleted
	mute                // the file cannot be read, or the shelf has foreign bytes
)

// A place is a side with the sum of its content.
type place struct {
	side side
	sum  sum
}

// A plan says what is to be done so that a file and the shelf are equal.
type plan struct {
	remove bool   // the file
	write  bool   // the file, with what the shelf has
	put    bool   // the file on the shelf
	drop   bool   // the value of the shelf
	note   *place // the base to be; nil leaves it
}

// merge compares the file and the shelf with the base, which they had when they were last equal.
func merge(base, file, shelf place) plan {
	switch {
	case base.side == deleted || shelf.side == deleted:
		return plan{remove: file.side != none, drop: shelf.side == has || shelf.side == mute,
			note: noteOf(base, place{side: deleted})}
	case file.side == mute:
		return plan{}
	case file.side == none:
		return lacking(base, shelf)
	case shelf.side == none || shelf.side == mute:
		return plan{put: true, note: noteOf(base, file)}
	case file.sum == shelf.sum:
		return plan{note: noteOf(base, file)}
	case base == shelf: // only the file has changed
		return plan{put: true, note: &file}
	}
	return plan{write: true, note: noteOf(base, shelf)}
}

// lacking is merge for a file that is not there.
func lacking(base, shelf place) plan {
	switch {
	case base.side == has:
		return plan{drop: shelf.side != none, note: &place{side: deleted}}
	case shelf.side == has:
		return plan{write: true, note: &shelf}
	}
	return plan{}
}

func noteOf(base, now place) *place {
	if base == now {
		return nil
	}
	return &now
}
