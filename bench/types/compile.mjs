// Compiles generated programs with the types of dist/, and measures how long tsc takes.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const CONFIG = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2023', 'ESNext.Disposable'],
    types: ['node'],
    module: 'NodeNext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    paths: { weirjs: ['../../packages/weirjs/dist/index.d.ts'], 'weirjs/client': ['../../packages/weirjs/dist/modules/client/index.d.ts'] },
  },
  include: ['program.ts'],
}

/** The options `--counts` and `--runs` of the command line. */
export function readOptions(defaultCounts) {
  const { values } = parseArgs({ options: { counts: { type: 'string', default: defaultCounts }, runs: { type: 'string', default: '5' } } })
  const counts = values.counts.split(',').map(Number)
  const runs = Number(values.runs)
  if (![...counts, runs].every((number) => Number.isInteger(number) && number > 0))
    throw new TypeError('--counts and --runs are whole numbers')
  return { counts, runs }
}

/** Calls `act` with a function that measures a program. Its folder in build/ is removed afterwards. */
export function withCompiler(name, runs, act) {
  const folder = `${ROOT}build/${name}`
  const tsc = (...args) =>
    execFileSync(process.execPath, [`${ROOT}node_modules/typescript/bin/tsc`, '-p', folder, ...args], { encoding: 'utf8' })
  /** Seconds, of the run that other processes disturbed least, and the number of types that were instantiated, which is the same in every run. */
  const measure = (program) => {
    writeFileSync(`${folder}/program.ts`, program)
    let seconds = Number.POSITIVE_INFINITY
    for (let run = 0; run < runs; run++) {
      const start = performance.now()
      tsc()
      seconds = Math.min(seconds, (performance.now() - start) / 1000)
    }
    const [, instantiations] = tsc('--extendedDiagnostics', '--singleThreaded').match(/Instantiations: +(\d+)/)
    return { seconds, instantiations: Number(instantiations) }
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/package.json`, '{ "type": "module" }')
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(CONFIG))
  try {
    act(measure)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
