// `node build/test/scale/main.js`: prints the table of docs/reliability.md. It takes about half a minute.

import { simulate } from './model.ts'
import { rowOf, SCENARIOS } from './scenarios.ts'

for (const { name, assumptions, disturbance } of SCENARIOS) console.log(rowOf(name, simulate(assumptions, disturbance)))
