package minion

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// withMine gives a workshop the function mine.update, which counts.
func withMine(t *testing.T, w *workshop) {
	t.Helper()
	var err error
	w.funcs, err = loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{{Name: "mine", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("update",
				func(context.Context, loader.NoArgs) (any, error) { return w.ran.Add(1), nil })}}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPillarChangesTheMine gives a minion one pillar after another: the mine is sent anew when its
// functions are others.
func TestPillarChangesTheMine(t *testing.T) {
	w := newWorkshop(t, &config.Minion{
		MinionPaths:  config.MinionPaths{CacheDir: t.TempDir()},
		MinionGrains: config.MinionGrains{MineEnabled: true},
	})
	withMine(t, w)
	functions := func(names ...any) *data.Map { return data.NewMap("mine_functions", data.NewMap(names...), "x", "y") }
	for _, tt := range []struct {
		name   string
		pillar *data.Map
		runs   int64
	}{
		{"no functions", data.NewMap("x", "y"), 0},
		{"functions", functions("test.ping", []any{}), 1},
		{"the same with another pillar",
			data.NewMap("mine_functions", data.NewMap("test.ping", []any{}), "z", int64(1)), 1},
		{"others", functions("test.ping", []any{"a"}), 2},
		{"none any more", data.NewMap(), 2},
	} {
		before := w.pillarMineFunctions()
		w.facts.setPillar(tt.pillar)
		if err := w.updateMineIfChanged(t.Context(), before); err != nil || w.ran.Load() != tt.runs {
			t.Errorf("%s: sent %d times, want %d; %v", tt.name, w.ran.Load(), tt.runs, err)
		}
	}
	w.cfg.MineEnabled = false
	before := w.pillarMineFunctions()
	w.facts.setPillar(functions("test.ping", []any{}))
	if err := w.updateMineIfChanged(t.Context(), before); err != nil || w.ran.Load() != 2 {
		t.Errorf("switched off: sent %d times; %v", w.ran.Load(), err)
	}
}

// TestMineWaitsForThePillar starts the job before a master has given the pillar.
func TestMineWaitsForThePillar(t *testing.T) {
	w := newWorkshop(t, &config.Minion{
		MinionPaths:  config.MinionPaths{CacheDir: t.TempDir()},
		MinionGrains: config.MinionGrains{MineEnabled: true, MineInterval: time.Hour},
	})
	withMine(t, w)
	w.link.ready = newMilestone()
	synctest.Test(t, func(t *testing.T) {
		task := mineTask(w.Minion)
		if task.Name != "__mine_interval" || task.Fun != "mine.update" || task.Every != time.Hour ||
			!task.RunOnStart {
			t.Errorf("the job is %+v", task)
		}
		ended, stop := context.WithCancel(t.Context())
		stop()
		if err := task.Do(ended); err != nil || w.ran.Load() != 0 {
			t.Errorf("at the end of the minion: %v, sent %d times", err, w.ran.Load())
		}
	})
	w.facts.setPillar(data.NewMap("mine_functions", data.NewMap("test.ping", []any{})))
	w.link.ready.reach()
	if err := mineTask(w.Minion).Do(t.Context()); err != nil || w.ran.Load() != 1 {
		t.Errorf("with the pillar: %v, sent %d times", err, w.ran.Load())
	}
}

func TestMineTaskIsOptional(t *testing.T) {
	paths := config.MinionPaths{CacheDir: t.TempDir()}
	for name, grains := range map[string]config.MinionGrains{
		"mine_enabled": {MineInterval: time.Hour}, "mine_interval": {MineEnabled: true},
	} {
		cfg := &config.Minion{MinionPaths: paths, MinionGrains: grains}
		if task := mineTask(newWorkshop(t, cfg).Minion); task.Every != 0 {
			t.Errorf("%s: the job is %+v", name, task)
		}
	}
}
