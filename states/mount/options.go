package mount

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Options that the kernel does not show, and options whose value it does not show.
const (
	invisible = " _netdev actimeo bg comment defaults delay_connect direct-io-mode intr loop nointr nobootwait nofail password reconnect retry soft auto noauto " +
		"user nouser users owner group bind rbind nonempty transform_symlinks port backup-volfile-servers remount exec suid dev async diratime mand atime "
	invisibleKeys = " actimeo comment credentials direct-io-mode password port retry secretfile "
)

// differing returns the options that the mount does not have.
func (m *module) differing(ctx context.Context, w *desired, opts []string) ([]string, error) {
	now := append(list(w.now().Value("opts")), list(w.now().Value("superopts"))...)
	for i, opt := range now {
		now[i] = normal(opt)
	}
	var missing []string
	for _, opt := range opts {
		shown, err := m.shownAs(ctx, w, opt)
		if err != nil {
			return nil, err
		}
		key, _, _ := strings.Cut(shown, "=")
		switch {
		case slices.Contains(now, normal(shown)) || w.hidden(shown, key) ||
			slices.Contains(missing, shown):
		case opposed(key, now):
			missing = append(missing, shown)
		case !strings.Contains(invisible, " "+key+" "):
			missing = append(missing, shown)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// opposed reports whether an option that is not shown is known to be inactive, because its opposite
// is active.
func opposed(key string, now []string) bool {
	switch key {
	case "exec", "suid", "dev", "diratime", "atime":
		return slices.Contains(now, "no"+key)
	case "async":
		return slices.Contains(now, "sync")
	}
	return false
}

// shownAs returns an option in the form that the kernel shows.
func (m *module) shownAs(ctx context.Context, w *desired, opt string) (string, error) {
	translated := map[string]string{"tcp": "proto=tcp", "udp": "proto=udp"}
	for from, to := range w.ExtraMountTranslateOptions.All() {
		translated[data.Str(from)] = data.Str(to)
	}
	if to, ok := translated[opt]; ok {
		opt = to
	}
	key, value, valued := strings.Cut(opt, "=")
	switch {
	case strings.Contains(invisibleKeys, " "+key+" ") ||
		slices.Contains(list(w.ExtraMountInvisibleKeys), key):
		return key, nil
	case w.Fstype == "cifs" && key == "user":
		return "username=" + value, nil
	case valued && (key == "uid" || key == "gid") && !number.MatchString(value):
		n, known, err := calls.NumberOf(ctx, m.env, key, value)
		if known {
			value = strconv.FormatInt(n, 10)
		}
		return key + "=" + value, err
	}
	return opt, nil
}

// hidden reports whether an option is never shown.
func (w *desired) hidden(opt, key string) bool {
	ignored := []string{}
	if w.Fstype == "ramfs" {
		ignored = []string{"size"}
	}
	if more, ok := w.ExtraMountIgnoreFsKeys.Get(w.Fstype); ok {
		ignored = list(more)
	}
	extra := append(list(w.ExtraMountInvisibleOptions), list(w.HiddenOpts)...)
	percent := strings.HasPrefix(opt, "size=") && strings.HasSuffix(opt, "%")
	bare := strings.Contains(invisible, " "+opt+" ") &&
		!strings.Contains(" exec suid dev diratime atime async ", " "+opt+" ")
	return bare || percent || strings.HasPrefix(opt, "x-") || slices.Contains(extra, opt) ||
		slices.Contains(ignored, key) ||
		opt == key && (strings.Contains(invisibleKeys, " "+key+" ") ||
			slices.Contains(list(w.ExtraMountInvisibleKeys), key))
}

var (
	number = regexp.MustCompile(`^[0-9]+$`)
	amount = regexp.MustCompile(`^(size|nr_inodes|nr_blocks)=([0-9]+)([kKmMgG]?)$`)
)

// normal returns the canonical form of an option: sizes in bytes, modes without leading zeros.
func normal(opt string) string {
	if match := amount.FindStringSubmatch(opt); match != nil {
		n, err := strconv.ParseInt(match[2], 10, 64)
		shift := map[string]int{"k": 10, "m": 20, "g": 30}[strings.ToLower(match[3])]
		if err == nil && n < 1<<(62-shift) {
			return match[1] + "=" + strconv.FormatInt(n<<shift, 10)
		}
	}
	if mode, ok := strings.CutPrefix(opt, "mode="); ok {
		return "mode=" + strings.TrimLeft(mode, "0")
	}
	return opt
}

// compared returns the options to compare with the mount. For a bind mount they include those of
// the underlying mount.
func (m *module) compared(w *desired) []string {
	if !slices.Contains(w.opts, "bind") || !w.BindMountCopyActiveOpts ||
		!strings.HasPrefix(w.Device, "/") {
		return w.opts
	}
	source := w.shownBy(m)
	opts := slices.Concat(w.opts, list(source.Value("opts")), list(source.Value("superopts")))
	slices.Sort(opts)
	return slices.Compact(opts)
}

// correctOptions changes the options of the mount to the desired ones.
func (m *module) correctOptions(ctx context.Context, w *desired) (done bool, err error) {
	if len(w.opts) == 0 {
		return false, nil
	}
	opts := m.compared(w)
	whole := w.Fstype == "nfs" || w.Fstype == "cvfs" || strings.HasPrefix(w.Fstype, "fuse")
	forced := "Forced remount"
	if whole {
		forced = "Forced unmount and mount"
	}
	type look struct {
		options []string // options that require a remount
		gone    bool     // they are no longer desired
	}
	because := func(l look) string { return " because options (" + strings.Join(l.options, ",") + ")" }
	verdict, err := take(ctx, w, change.Thing[look]{
		Look: func(ctx context.Context) (l look, err error) {
			if l.options, err = m.differing(ctx, w, opts); err == nil && l.options == nil {
				l.gone = true
				l.options, err = m.formerly(ctx, w, opts)
			}
			return l, change.Raise(err)
		},
		Wants: func(l look) *data.Map {
			return change.When(len(l.options) > 0,
				data.NewMap("umount", forced+because(l)+" changed"))
		},
		Apply: func(ctx context.Context, _ look) error { return m.again(ctx, w, opts, whole) },
		Say: func(o change.Outcome[look]) any {
			switch {
			case o.Stage == change.StageWould && o.Before.gone:
				return "Remount would be forced" + because(o.Before) + "changed"
			case o.Stage == change.StageWould:
				return "Remount would be forced" + because(o.Before) + " changed"
			}
			return nil
		},
	})
	return verdict != change.Success, err
}

// formerly returns options of an earlier mount by the minion that are no longer desired.
func (m *module) formerly(ctx context.Context, w *desired, opts []string) ([]string, error) {
	cache, err := loader.CallAs[*data.Map](ctx, m.env, "mount.read_mount_cache", []any{w.real}, nil)
	noted, ok := cache.Get("opts")
	if err == nil && (!ok || cache.Text("device") != w.Device) {
		w.noted = true
		return nil, nil
	}
	wanted := func(opt string) bool { return slices.Contains(opts, opt) }
	return slices.DeleteFunc(list(noted), wanted), err
}

// again remounts with other options, or with whole unmounts and mounts again.
func (m *module) again(ctx context.Context, w *desired, opts []string, whole bool) error {
	w.noted = true
	fun := "mount.remount"
	if whole {
		fun = "mount.mount"
		answer, err := change.Ask[any](ctx, m.env, "mount.umount", []any{w.real}, nil)
		switch {
		case err != nil:
			return err
		case answer != true:
			return errors.New("Unable to unmount " + w.real + ": " + data.Str(answer) + ".")
		}
	}
	kwargs := data.NewMap("mkmnt", w.Mkmnt, "fstype", w.Fstype, "opts", data.Values(opts))
	answer, err := change.Ask[any](ctx, m.env, fun, []any{w.real, w.Device}, kwargs)
	if err == nil && answer != true {
		err = errors.New(data.Str(answer))
	}
	return err
}
