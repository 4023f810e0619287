// Package record encodes a master's jobs and returns as MessagePack with a checksum, which reveals
// damage. Caches whose Salt layout cannot hold all data store such records beside Salt's rows, keys
// or files, which remain readable for Salt's programs.
package record

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// ErrDamaged is wrapped by errors about a damaged record.
var ErrDamaged = errors.New("the record is damaged")

// mark begins every record.
const mark = "brine\x01"

// Fields of a record.
const (
	fieldID       = "id" // of the job
	fieldLoad     = "load"
	fieldMinions  = "minions"
	fieldMissing  = "missing"
	fieldNoCache  = "nocache"
	fieldStarted  = "started"  // microseconds
	fieldMinion   = "minion"   // that returned
	fieldReceived = "received" // microseconds
)

// MarshalJob encodes j as a record with a checksum. It omits Absent.
func MarshalJob(j *returners.Job) ([]byte, error) {
	return seal(data.NewMap(fieldID, []byte(j.ID), fieldLoad, []byte(j.Load), fieldMinions,
		namesOf(j.Minions), fieldMissing, namesOf(j.Missing),
		fieldNoCache, j.NoCache, fieldStarted, j.Started.UnixMicro()))
}

// UnmarshalJob decodes a record of the job id. The error wraps ErrDamaged if the record is damaged
// or belongs to another job.
func UnmarshalJob(id job.ID, b []byte) (*returners.Job, error) {
	m, err := unseal(id, b)
	if err != nil {
		return nil, fmt.Errorf("job %.64q: %w", id, err)
	}
	started, ok := m.Value(fieldStarted).(int64)
	load, hasLoad := m.Value(fieldLoad).([]byte)
	if !ok || !hasLoad {
		return nil, fmt.Errorf("job %.64q: %w: it is not a job", id, ErrDamaged)
	}
	return &returners.Job{ID: id, Load: load, Minions: readNames(m.Value(fieldMinions)),
		Missing: readNames(m.Value(fieldMissing)), NoCache: m.Value(fieldNoCache) == true,
		Started: time.UnixMicro(started).UTC()}, nil
}

// MarshalReturn encodes r as a record with a checksum.
func MarshalReturn(id job.ID, r *returners.Return) ([]byte, error) {
	return seal(data.NewMap(fieldID, []byte(id), fieldMinion, []byte(r.Minion), fieldLoad,
		[]byte(r.Load), fieldReceived, r.Received.UnixMicro()))
}

// UnmarshalReturn decodes the record of a return for the job id. The error wraps ErrDamaged as in
// UnmarshalJob.
func UnmarshalReturn(id job.ID, b []byte) (*returners.Return, error) {
	m, err := unseal(id, b)
	if err != nil {
		return nil, fmt.Errorf("return for job %.64q: %w", id, err)
	}
	minion, ok := m.Value(fieldMinion).([]byte)
	received, hasTime := m.Value(fieldReceived).(int64)
	load, hasLoad := m.Value(fieldLoad).([]byte)
	if !ok || !hasTime || !hasLoad {
		return nil, fmt.Errorf("return for job %.64q: %w: it is not a return", id, ErrDamaged)
	}
	return &returners.Return{Minion: string(minion), Load: load,
		Received: time.UnixMicro(received).UTC()}, nil
}

// namesOf returns ids as bytes, so that one that is not UTF-8 is preserved.
func namesOf(ids []string) []any {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = []byte(id)
	}
	return list
}

func readNames(v any) []string {
	list, _ := v.([]any)
	ids := make([]string, 0, len(list))
	for _, e := range list {
		id, _ := e.([]byte)
		ids = append(ids, string(id))
	}
	return ids
}

func seal(m *data.Map) ([]byte, error) {
	b, err := payload.AppendBin([]byte(mark), m)
	if err != nil {
		return nil, err
	}
	return binary.BigEndian.AppendUint32(b, checksum(b)), nil
}

// unseal returns the fields of a record of the job id.
func unseal(id job.ID, b []byte) (*data.Map, error) {
	end := len(b) - 4
	if end < len(mark) || string(b[:len(mark)]) != mark ||
		binary.BigEndian.Uint32(b[end:]) != checksum(b[:end]) {
		return nil, ErrDamaged
	}
	limits := payload.WireLimits()
	limits.Size += 1 << 20
	v, err := payload.UnmarshalText(b[len(mark):end], limits)
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if own, _ := m.Value(fieldID).([]byte); string(own) != string(id) {
		return nil, fmt.Errorf("%w: it belongs to another job", ErrDamaged)
	}
	return m, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Answer returns a digest of the encoded fields return and retcode, or of the whole load if it has
// no field return. It distinguishes a repeated return from a conflicting one.
func Answer(load data.Raw) []byte {
	h := sha256.New()
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil || !fields.Has("return") {
		h.Write(load)
		return h.Sum(nil)[:16]
	}
	value := fields.Raw("return")
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
	h.Write(value)
	h.Write(fields.Raw("retcode"))
	return h.Sum(nil)[:16]
}

// FunOf returns the function of a load, or "" if it has none; several are joined by commas.
func FunOf(load data.Raw) string {
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil {
		return ""
	}
	return returners.FunText(fields.Value("fun"))
}

// Matches reports whether f selects j.
func Matches(f returners.Filter, j *returners.Job) bool {
	return (f.Since.IsZero() || !j.Started.Before(f.Since)) &&
		(f.Until.IsZero() || j.Started.Before(f.Until)) &&
		(f.Fun == "" || FunOf(j.Load) == f.Fun)
}

// MergeIDs appends to ids those of more that it lacks, and reports whether there were any. ids is
// not changed.
func MergeIDs(ids, more []string) (all []string, changed bool) {
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	all = slices.Clip(ids)
	for _, id := range more {
		if !known[id] {
			known[id] = true
			all = append(all, id)
		}
	}
	return all, len(all) > len(ids)
}
