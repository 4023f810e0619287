package jinja

import (
	"math"
	"math/big"
)

// powerBits is the precision for computing powers of floats, so that they are rounded only once, as
// in C.
const powerBits = 160

func precise(f float64) *big.Float { return new(big.Float).SetPrec(powerBits).SetFloat64(f) }

// pow returns x to the power y. Go's own result differs by some units in the last digit.
func pow(x, y float64) float64 {
	rough := math.Pow(x, y)
	if rough == 0 || x == 0 || y == 0 || math.IsInf(rough, 0) || math.IsNaN(rough) ||
		math.IsInf(y, 0) || math.Abs(x) == 1 {
		return rough
	}
	// |x| = 2 to the power of exp, times e to the power of log
	mantissa, exp := math.Frexp(math.Abs(x))
	two := logarithm(precise(2))
	log := new(big.Float).Mul(two, precise(float64(exp)))
	log.Add(log, logarithm(precise(mantissa)))
	log.Mul(log, precise(y))
	whole := math.Round(y * math.Log2(math.Abs(x)))
	log.Sub(log, new(big.Float).Mul(two, precise(whole)))
	out := exponential(log)
	z, _ := out.SetMantExp(out, int(whole)).Float64()
	return math.Copysign(z, rough)
}

// logarithm returns the natural logarithm of 0.5 to 2, by the series of the inverse hyperbolic
// tangent.
func logarithm(x *big.Float) *big.Float {
	z := new(big.Float).Quo(new(big.Float).Sub(x, precise(1)), new(big.Float).Add(x, precise(1)))
	square := new(big.Float).Mul(z, z)
	sum, term := precise(0), z
	for n := 1.0; n < 2*powerBits && term.Sign() != 0 && term.MantExp(nil) > -powerBits-8; n += 2 {
		sum.Add(sum, new(big.Float).Quo(term, precise(n)))
		term = new(big.Float).Mul(term, square)
	}
	return sum.Mul(sum, precise(2))
}

// exponential returns e to the power of a small x.
func exponential(x *big.Float) *big.Float {
	sum, term := precise(1), precise(1)
	for n := 1.0; n < powerBits && term.Sign() != 0 && term.MantExp(nil) > -powerBits-8; n++ {
		term = new(big.Float).Quo(new(big.Float).Mul(term, x), precise(n))
		sum.Add(sum, term)
	}
	return sum
}
