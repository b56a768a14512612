// What a route costs the compiler: an editor waits for it with each key. By the number of types that are instantiated, which is the same in
// every run, with the programs of bench/types and the declarations of dist/.

import { ok } from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

interface Compiling {
  withCompiler(name: string, runs: number, act: (measure: (program: string) => { instantiations: number }) => void): void
}
type Program = (count: number) => string

const load = async <T>(name: string): Promise<T> => (await import(pathToFileURL(resolve('bench/types', name)).href)) as T
const { withCompiler } = await load<Compiling>('compile.mjs')
const { routesProgram } = await load<{ routesProgram: Program }>('routes-program.mjs')
const { contractProgram } = await load<{ contractProgram: (count: number, isCalled: boolean) => string }>('contract-program.mjs')
const { PROGRAMS } = await load<{ PROGRAMS: { readonly weir: Program } }>('peer-programs.mjs')

/** Instantiations that each of the second hundred routes adds, today. A cheaper declaration may lower them. */
const TODAY: readonly [what: string, today: number, program: Program][] = [
  ['a route that is mapped inline or by a controller', 1803, routesProgram],
  ['an entry of a contract with its handler', 1303, (count) => contractProgram(count, false)],
  ['an entry of a contract with its handler and a call', 1726, (count) => contractProgram(count, true)],
  ['a route of the comparison with peers', 1868, PROGRAMS.weir],
]

for (const [what, today, program] of TODAY) {
  test(`${what} costs the compiler at most 5 % more than ${today} instantiations`, (t) => {
    withCompiler(`compiler-cost-${process.pid}`, 0, (measure) => {
      const each = (measure(program(200)).instantiations - measure(program(100)).instantiations) / 100
      t.diagnostic(`${each} instantiations`)
      ok(each > 0 && each <= today * 1.05, `${each} instantiations, but the budget is ${today} + 5 %`)
    })
  })
}
