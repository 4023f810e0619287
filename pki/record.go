package pki

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// A record is a small file in the master's cachedir: a JSON object indexed by minion id. It is safe
// for concurrent use.
type record[V any] struct {
	dir, name string
	most      int64 // maximum file size in bytes

	writing sync.Mutex // held while the file is written
}

// load returns the contents of the file. A missing file is empty.
func (r *record[V]) load() (map[string]V, error) {
	byID := map[string]V{}
	text, err := r.read()
	if err != nil || text == nil {
		return byID, err
	}
	if err := json.Unmarshal(text, &byID); err != nil {
		return map[string]V{}, fmt.Errorf("%s: %w", r.name, err)
	}
	if byID == nil { // the text was null
		byID = map[string]V{}
	}
	return byID, nil
}

// read returns the text of the file, or nil if it does not exist.
func (r *record[V]) read() ([]byte, error) {
	dir, err := enter(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.leave()
	f, err := dir.root.Open(r.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAtMost(f, r.most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return text, nil
}

// flush writes the value returned by changed, unless it is nil. If writing fails, it calls undo.
func (r *record[V]) flush(changed func() map[string]V, undo func()) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	byID := changed()
	if byID == nil {
		return nil
	}
	text, err := json.Marshal(byID)
	if err == nil {
		err = r.replace(text)
	}
	if err != nil {
		undo()
	}
	return err
}

func (r *record[V]) replace(text []byte) error {
	dir, err := enter(r.dir)
	if err != nil {
		return err
	}
	defer dir.leave()
	return dir.replace(r.name, text, 0o600)
}
