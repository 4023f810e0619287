package tokenfiles

import "testing"

func TestMerge(t *testing.T) {
	one, two := place{has, sum{1}}, place{has, sum{2}}
	gone, no, bad := place{side: deleted}, place{}, place{side: mute}
	for _, tt := range []struct {
		name              string
		base, file, shelf place
		want              plan
	}{
		{"nothing anywhere", no, no, no, plan{}},
		{"a new file", no, one, no, plan{put: true, note: &one}},
		{"a new file in the place of foreign bytes", no, one, bad, plan{put: true, note: &one}},
		{"a new value", no, no, one, plan{write: true, note: &one}},
		{"foreign bytes alone", no, no, bad, plan{}},
		{"equal without a base", no, one, one, plan{note: &one}},
		{"equal", one, one, one, plan{}},
		{"the file has changed", one, two, one, plan{put: true, note: &two}},
		{"the shelf has changed", one, one, two, plan{write: true, note: &two}},
		{"both differ without a base", no, one, two, plan{write: true, note: &two}},
		{"the file is deleted", one, no, one, plan{drop: true, note: &gone}},
		{"deleted here, changed there", one, no, two, plan{drop: true, note: &gone}},
		{"deleted here, foreign bytes there", one, no, bad, plan{drop: true, note: &gone}},
		{"deleted here, the shelf is new", one, no, no, plan{note: &gone}},
		{"deleted there", one, one, gone, plan{remove: true, note: &gone}},
		{"changed here, deleted there", one, two, gone, plan{remove: true, note: &gone}},
		{"unreadable here, deleted there", one, bad, gone, plan{remove: true, note: &gone}},
		{"deleted on both", one, no, gone, plan{note: &gone}},
		{"deleted earlier, and back on the shelf", gone, no, one, plan{drop: true}},
		{"deleted earlier, and back in the directory", gone, one, gone, plan{remove: true}},
		{"deleted earlier, the shelf is new", gone, no, no, plan{}},
		{"the shelf is new", one, one, no, plan{put: true}},
		{"an unreadable file", one, bad, one, plan{}},
		{"an unreadable new file", no, bad, no, plan{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := merge(tt.base, tt.file, tt.shelf)
			same := (got.note == nil) == (tt.want.note == nil) && (got.note == nil || *got.note == *tt.want.note)
			got.note, tt.want.note = nil, nil
			if got != tt.want || !same {
				t.Errorf("got %+v, want %+v; notes are the same: %t", got, tt.want, same)
			}
		})
	}
}
