package returners

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/payload"
)

// Decoded returns v with UTF-8 bytes converted to text, as salt.utils.data.decode does before JSON
// is written. It changes lists and maps in v that hold such bytes.
func Decoded(v any) any {
	switch v := v.(type) {
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
	case []any:
		for i, e := range v {
			v[i] = Decoded(e)
		}
	case *data.Map:
		for k, e := range v.All() {
			v.Set(k, Decoded(e))
		}
	}
	return v
}

// LoadJSON returns an encoded map as JSON; an undecodable one becomes an empty map.
func LoadJSON(load data.Raw) string {
	v, err := payload.UnmarshalText(load, payload.WireLimits())
	if m, ok := v.(*data.Map); err == nil && ok {
		if text, err := output.JSON(Decoded(m)); err == nil {
			return text
		}
	}
	return "{}"
}

// LoadOfJSON encodes JSON, which must be a map.
func LoadOfJSON(text string) (data.Raw, error) {
	v, err := ParseJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New("the value is not a map")
	}
	return payload.MarshalBin(m)
}

// JobOfJSON makes a job of the JSON load that Salt's returners store. The job ID determines its
// start time.
func JobOfJSON(id job.ID, text string) (*Job, error) {
	load, err := LoadOfJSON(text)
	if err != nil {
		return nil, err
	}
	started, err := id.Time()
	if err != nil {
		started = time.Unix(0, 0).UTC()
	}
	return &Job{ID: id, Load: load, Started: started}, nil
}
