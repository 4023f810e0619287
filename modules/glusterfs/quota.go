package glusterfs

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

// enableQuotaVolume turns quotas of a volume on, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' glusterfs.enable_quota_volume myvolume
func (m *module) enableQuotaVolume(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, "volume", "quota", a.Name, "enable")
}

// disableQuotaVolume turns quotas of a volume off, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' glusterfs.disable_quota_volume myvolume
func (m *module) disableQuotaVolume(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, "volume", "quota", a.Name, "disable")
}

type setQuotaArgs struct {
	Name        string
	Path        any
	Size        any
	EnableQuota any `default:"False"`
}

// setQuotaVolume limits the size of a directory of a volume, and returns whether that succeeded.
//
// path
//
//	The directory, / for the whole volume.
//
// size
//
//	The limit, such as 10GB.
//
// enable_quota
//
//	True: turn quotas on first.
//
// CLI Example:
//
//	salt '*' glusterfs.set_quota_volume myvolume / 10GB enable_quota=True
func (m *module) setQuotaVolume(ctx context.Context, a setQuotaArgs) (any, error) {
	words := []string{"volume", "quota", a.Name}
	if path := calls.Text(a.Path); path != "" {
		words = append(words, "limit-usage", path)
	}
	if size := calls.Text(a.Size); size != "" {
		words = append(words, size)
	}
	if data.Truth(a.EnableQuota) {
		if _, err := m.do(ctx, "volume", "quota", a.Name, "enable"); err != nil {
			return nil, err
		}
	}
	return m.do(ctx, words...)
}

type unsetQuotaArgs struct {
	Name string
	Path any
}

// unsetQuotaVolume removes the limit of a directory of a volume, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' glusterfs.unset_quota_volume myvolume /
func (m *module) unsetQuotaVolume(ctx context.Context, a unsetQuotaArgs) (any, error) {
	words := []string{"volume", "quota", a.Name}
	if path := calls.Text(a.Path); path != "" {
		words = append(words, "remove", path)
	}
	return m.do(ctx, words...)
}

// listQuotaVolume returns the limits of a volume by directory; None if gluster fails.
//
// CLI Example:
//
//	salt '*' glusterfs.list_quota_volume myvolume
func (m *module) listQuotaVolume(ctx context.Context, a nameArgs) (any, error) {
	answer, err := m.ask(ctx, "volume", "quota", a.Name, "list")
	if err != nil || !answer.ok() {
		return nil, err
	}
	limits := &data.Map{}
	for _, limit := range answer.all("limit") {
		limits.Set(limit.child("path").str(), limit.value())
	}
	return limits, nil
}
