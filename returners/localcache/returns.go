package localcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// hiddenReturn begins the directory name for a minion whose id cannot be one. Salt ignores hidden
// names.
const hiddenReturn = ".id-"

// DirOf returns the name of a minion's directory in that of a job. ok is false if the id cannot
// be a directory name.
func DirOf(minion string) (name string, ok bool) {
	switch minion {
	case fileID, fileNoCache, fileEndTime:
		return "", false
	}
	return minion, pki.ValidID(minion) == nil && filepath.IsLocal(minion)
}

// folderOf returns the name of a minion's directory. If the id cannot be one, the name is one that
// Salt ignores.
func folderOf(minion string) string {
	if name, ok := DirOf(minion); ok {
		return name
	}
	sum := sha256.Sum256([]byte(minion))
	return hiddenReturn + hex.EncodeToString(sum[:])
}

// SaveReturn stores r, see [returners.JobCache].
func (c *Cache) SaveReturn(
	ctx context.Context, id job.ID, r *returners.Return,
) (fresh bool, err error) {
	folder, end, err := c.change(ctx, id)
	if err == nil {
		defer end()
		fresh, err = c.saveReturn(folder, id, r)
	}
	if err != nil {
		return false, fmt.Errorf("save return of minion %.64s for job %s: %w", r.Minion, id, err)
	}
	return fresh, nil
}

func (c *Cache) saveReturn(folder string, id job.ID, r *returners.Return) (fresh bool, err error) {
	if _, err := c.job(folder, id); err != nil {
		return false, err
	}
	files, err := returnFiles(id, r)
	if err != nil {
		return false, err
	}
	work, target := filepath.Join(folder, "."+unique()), filepath.Join(folder, folderOf(r.Minion))
	if old, err := c.ret(folder, folderOf(r.Minion), id); err == nil {
		if !same(old.Load, r.Load) && !sameAsSalt(old, r) {
			return false, returners.ErrConflict
		}
		return false, nil
	} else if !missing(err) {
		c.logDamage(target, err)
		if err := c.root.RemoveAll(target); err != nil {
			return false, err
		}
	}
	_ = c.root.Remove(target) // an empty directory, if Salt's master was killed there
	if err = c.make(work, files); err == nil {
		at := c.tick()
		err = c.root.Chtimes(work, at, at)
	}
	if err == nil {
		if err = c.root.Rename(work, target); err == nil {
			return true, errors.Join(c.sync(folder), c.endTime(folder, r.Received))
		}
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		err = fmt.Errorf("%w: another program has created its directory", returners.ErrConflict)
	}
	return false, errors.Join(err, c.root.RemoveAll(work))
}

// sameAsSalt compares a return with one that Salt wrote, of which only some fields are known.
func sameAsSalt(old, r *returners.Return) bool {
	body, _ := SaltFields(r.Load)
	return body != nil && same(old.Load, body)
}

// returnFiles returns the files of a return, the record last.
func returnFiles(id job.ID, r *returners.Return) ([]file, error) {
	row, err := record.MarshalReturn(id, r)
	if err != nil {
		return nil, err
	}
	body, out := SaltFields(r.Load)
	var files []file
	if body != nil {
		files = append(files, file{fileReturn, body})
	}
	if out != nil {
		files = append(files, file{fileOut, out})
	}
	return append(files, file{fileRecord, row}), nil
}

// SaltFields returns the files that Salt stores for a return: return.p, and out.p if there is an
// outputter, otherwise nil. For a load that Salt could not read both are nil
// (salt/returners/local_cache.py, returner).
func SaltFields(load data.Raw) (body, out []byte) {
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil || !fields.Has("return") {
		return nil, nil
	}
	var kept payload.Fields
	for _, name := range []string{"return", "retcode", "success"} {
		if v := fields.Raw(name); v != nil {
			kept = append(kept, payload.Field{Key: name, Value: v})
		}
	}
	return kept.Marshal(), fields.Raw("out")
}

// endTime stores the time of the last return if that is configured (salt/utils/job.py, store_job).
func (c *Cache) endTime(folder string, at time.Time) error {
	if !c.o.EndTime {
		return nil
	}
	return c.replace(folder, file{fileEndTime, []byte(job.NewID(at.UTC()).StartTime())})
}

// ret reads a return; the error wraps fs.ErrNotExist if it does not exist.
func (c *Cache) ret(folder, name string, id job.ID) (*returners.Return, error) {
	row, err := c.read(filepath.Join(folder, name, fileRecord))
	if missing(err) {
		return c.saltReturn(folder, name, id)
	}
	if err != nil {
		return nil, err
	}
	r, err := record.UnmarshalReturn(id, row)
	if err != nil {
		return nil, err
	}
	if folderOf(r.Minion) != name {
		return nil, fmt.Errorf("%w: it belongs to another minion", record.ErrDamaged)
	}
	return r, nil
}

// saltReturn reads a return that Salt wrote (salt/returners/local_cache.py, get_jid).
func (c *Cache) saltReturn(folder, name string, id job.ID) (*returners.Return, error) {
	file := filepath.Join(folder, name, fileReturn)
	info, err := c.root.Stat(file)
	if err != nil {
		return nil, err
	}
	body, err := c.read(file)
	if err != nil {
		return nil, err
	}
	if err := payload.Check(body, payload.WireLimits()); err != nil {
		return nil, err
	}
	fields, err := payload.ParseFields(body, payload.WireLimits())
	if err != nil || !fields.Has("return") {
		fields = payload.Fields{{Key: "return", Value: body}} // the older form
	}
	if out, err := c.read(filepath.Join(folder, name, fileOut)); err == nil &&
		payload.Check(out, payload.WireLimits()) == nil {
		fields = append(fields, payload.Field{Key: "out", Value: out})
	}
	if err := errors.Join(fields.SetBin("id", name), fields.SetBin("jid", string(id))); err != nil {
		return nil, err
	}
	return &returners.Return{Minion: name, Load: fields.Marshal(),
		Received: info.ModTime().UTC()}, nil
}

// Returns returns the returns of a job, in the order of arrival.
func (c *Cache) Returns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	defer end()
	folder, err := id.Dir(c.o.HashType)
	if err != nil {
		return nil, err
	}
	folder = filepath.FromSlash(folder)
	entries, err := c.list(folder)
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	return c.returnsIn(ctx, folder, id, entries)
}

// arrived is a return and the time of its directory, for sorting.
type arrived struct {
	returners.Return
	at time.Time
}

func (c *Cache) returnsIn(
	ctx context.Context, folder string, id job.ID, entries []fs.DirEntry,
) ([]returners.Return, error) {
	var all []arrived
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") &&
			!strings.HasPrefix(e.Name(), hiddenReturn) {
			continue
		}
		r, err := c.ret(folder, e.Name(), id)
		if missing(err) {
			continue // Salt is about to write it
		}
		if err != nil {
			c.logDamage(filepath.Join(folder, e.Name()), err)
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it is being removed
		}
		all = append(all, arrived{*r, info.ModTime()})
	}
	slices.SortStableFunc(all, func(a, b arrived) int { return a.at.Compare(b.at) })
	list := make([]returners.Return, len(all))
	for i := range all {
		list[i] = all[i].Return
	}
	return list, nil
}
