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
	"github.com/brineproject/brine/state/change"
)

// Options that the kernel does not show, and options with values of which it does not show the value.
const (
	invisible = " _netdev actimeo bg comment defaults delay_connect direct-io-mode intr loop nointr nobootwait nofail password reconnect retry soft auto noauto " +
		"user nouser users owner group bind rbind nonempty transform_symlinks port backup-volfile-servers remount exec suid dev async diratime mand atime "
	invisibleKeys = " actimeo comment credentials direct-io-mode password port retry secretfile "
)

// differing returns the options that what is mounted has not.
func (m *module) differing(ctx context.Context, w *wish, opts []string) ([]string, error) {
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
		case slices.Contains(now, normal(shown)) || w.hidden(shown, key) || slices.Contains(missing, shown):
		case opposed(key, now):
			missing = append(missing, shown)
		case !strings.Contains(invisible, " "+key+" "):
			missing = append(missing, shown)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// opposed tells whether an option that is not shown is known not to be in force, since its opposite is.
func opposed(key string, now []string) bool {
	switch key {
	case "exec", "suid", "dev", "diratime", "atime":
		return slices.Contains(now, "no"+key)
	case "async":
		return slices.Contains(now, "sync")
	}
	return false
}

// shownAs returns an option as the kernel shows it.
func (m *module) shownAs(ctx context.Context, w *wish, opt string) (string, error) {
	translated := map[string]string{"tcp": "proto=tcp", "udp": "proto=udp"}
	for from, to := range w.ExtraMountTranslateOptions.All() {
		translated[data.Str(from)] = data.Str(to)
	}
	if to, ok := translated[opt]; ok {
		opt = to
	}
	key, value, valued := strings.Cut(opt, "=")
	fun := map[string]string{"uid": "user.info", "gid": "group.info"}[key]
	switch {
	case strings.Contains(invisibleKeys, " "+key+" ") || slices.Contains(list(w.ExtraMountInvisibleKeys), key):
		return key, nil
	case w.Fstype == "cifs" && key == "user":
		return "username=" + value, nil
	case valued && fun != "" && !number.MatchString(value):
		v, err := m.env.Call(ctx, fun, []any{value}, nil)
		if info, _ := v.(*data.Map); info.Has(key) {
			value = data.Str(info.Value(key))
		}
		return key + "=" + value, err
	}
	return opt, nil
}

// hidden tells whether an option is none that could be seen.
func (w *wish) hidden(opt, key string) bool {
	ignored := []string{}
	if w.Fstype == "ramfs" {
		ignored = []string{"size"}
	}
	if more, ok := w.ExtraMountIgnoreFsKeys.Get(w.Fstype); ok {
		ignored = list(more)
	}
	extra := append(list(w.ExtraMountInvisibleOptions), list(w.HiddenOpts)...)
	percent := strings.HasPrefix(opt, "size=") && strings.HasSuffix(opt, "%")
	bare := strings.Contains(invisible, " "+opt+" ") && !strings.Contains(" exec suid dev diratime atime async ", " "+opt+" ")
	return bare || percent || strings.HasPrefix(opt, "x-") || slices.Contains(extra, opt) || slices.Contains(ignored, key) ||
		opt == key && (strings.Contains(invisibleKeys, " "+key+" ") || slices.Contains(list(w.ExtraMountInvisibleKeys), key))
}

var (
	number = regexp.MustCompile(`^[0-9]+$`)
	amount = regexp.MustCompile(`^(size|nr_inodes|nr_blocks)=([0-9]+)([kKmMgG]?)$`)
)

// normal returns an option in a form that is the same for what is the same: sizes in numbers, modes without a zero before.
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

// compared returns the options that what is mounted is compared with: for a bind mount also those of what it shows.
func (m *module) compared(w *wish) []string {
	if !slices.Contains(w.opts, "bind") || !w.BindMountCopyActiveOpts || !strings.HasPrefix(w.Device, "/") {
		return w.opts
	}
	source := w.shownBy(m)
	opts := slices.Concat(w.opts, list(source.Value("opts")), list(source.Value("superopts")))
	slices.Sort(opts)
	return slices.Compact(opts)
}

// settleOptions gives what is mounted the options that it is to have.
func (m *module) settleOptions(ctx context.Context, w *wish) (done bool, err error) {
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
		options []string // that make it necessary to mount anew
		gone    bool     // they are wanted no more
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
			return change.When(len(l.options) > 0, data.NewMap("umount", forced+because(l)+" changed"))
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

// formerly returns options with which the minion mounted it before, and that are wanted no more.
func (m *module) formerly(ctx context.Context, w *wish, opts []string) ([]string, error) {
	cache, err := loader.CallAs[*data.Map](ctx, m.env, "mount.read_mount_cache", []any{w.real}, nil)
	noted, ok := cache.Get("opts")
	if err == nil && (!ok || cache.Text("device") != w.Device) {
		w.noted = true
		return nil, nil
	}
	wanted := func(opt string) bool { return slices.Contains(opts, opt) }
	return slices.DeleteFunc(list(noted), wanted), err
}

// again mounts with other options what is mounted, as a whole or by a remount.
func (m *module) again(ctx context.Context, w *wish, opts []string, whole bool) error {
	w.noted = true
	fun := "mount.remount"
	if whole {
		fun = "mount.mount"
		said, err := change.Ask[any](ctx, m.env, "mount.umount", []any{w.real}, nil)
		switch {
		case err != nil:
			return err
		case said != true:
			return errors.New("Unable to unmount " + w.real + ": " + data.Str(said) + ".")
		}
	}
	kwargs := data.NewMap("mkmnt", w.Mkmnt, "fstype", w.Fstype, "opts", data.Values(opts))
	said, err := change.Ask[any](ctx, m.env, fun, []any{w.real, w.Device}, kwargs)
	if err == nil && said != true {
		err = errors.New(data.Str(said))
	}
	return err
}
