// The command line of the bench.
import { parseArgs } from 'node:util'

export const USAGE = `npm run bench -- [options]
  --quick              short rounds of weir and fastify, without w8b, w11 and w12d-br: under five minutes
  --only w1,w2         only these workloads
  --servers weir,hono  only these servers, or all (default all; quick weir,fastify). node is always measured,
                       because every ratio is relative to it
  --rounds n           rounds for each workload (default 30; quick 6)
  --seconds n          seconds of load for each server in each round (default 0.5; quick 0.25)
  --warmup n           seconds of load before the first round (default 2; quick 0.6)
  --processes n        how often the servers are restarted during the rounds (default 3; quick 1)
  --generator wrk|own  wrk, as a second opinion, instead of bench/load.mjs (whole seconds; never for pipelining)
  --cpu-prof folder    writes a CPU profile of each server there; do not quote the numbers of such a run
  --json file          writes the numbers of every round there
  --markdown file      writes docs/performance.md there
  --beside a.json,…    with --markdown: runs of other versions of Node, as --json wrote them, to show beside this one
  --help`

const FULL = { servers: null, rounds: 30, seconds: 0.5, warmup: 2, processes: 3 }
const QUICK = { servers: ['weir', 'fastify'], rounds: 6, seconds: 0.25, warmup: 0.6, processes: 1 }

/** @throws TypeError with a text for the user */
export function readOptions(args) {
  const text = { type: 'string' }
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      only: text,
      servers: text,
      rounds: text,
      seconds: text,
      warmup: text,
      processes: text,
      generator: text,
      'cpu-prof': text,
      json: text,
      markdown: text,
      beside: text,
    },
  })
  const preset = values.quick ? QUICK : FULL
  if (values.generator !== undefined && !['wrk', 'own'].includes(values.generator)) throw new TypeError('--generator must be wrk or own')
  const rounds = positive('rounds', values.rounds, preset.rounds)
  return {
    help: values.help,
    only: list(values.only),
    quick: values.quick,
    servers: list(values.servers) ?? preset.servers,
    rounds,
    seconds: positive('seconds', values.seconds, preset.seconds),
    warmup: positive('warmup', values.warmup, preset.warmup),
    processes: Math.min(rounds, positive('processes', values.processes, preset.processes)),
    generator: values.generator ?? 'own',
    profiles: values['cpu-prof'] ?? null,
    json: values.json ?? null,
    markdown: values.markdown ?? null,
    beside: list(values.beside) ?? [],
  }
}

const list = (value) => (value === undefined ? null : value.split(',').map((word) => word.trim()))

function positive(name, given, preset) {
  const value = given === undefined ? preset : Number(given)
  if (!(value > 0) || (name !== 'seconds' && name !== 'warmup' && !Number.isInteger(value)))
    throw new TypeError(`--${name} ${given}: not a valid number`)
  return value
}
