// How long tsc takes for a contract, its handlers and calls: `node bench/types/contracts.mjs [--counts 100,200,300,400,500,600] [--runs 5]`. Needs
// `npm run build`.
//
// Each program has one contract with that many entries, with parameters, bodies and answers; one `mapContract` with a handler for each; and a
// client. "mapped" has no client. "called" calls each entry once and reads its answer. The cost of an entry is the difference from the program
// with an empty contract, divided by the number of entries.
import { readOptions, withCompiler } from './compile.mjs'
import { contractProgram } from './contract-program.mjs'

const { counts, runs } = readOptions('100,200,300,400,500,600')

withCompiler('bench-contracts', runs, (measure) => {
  console.log(`tsc for a contract, the shortest of ${runs} runs\n`)
  for (const isCalled of [false, true]) {
    const empty = measure(contractProgram(0, isCalled))
    console.log(
      `| entries, ${isCalled ? 'called' : 'mapped'} | seconds | ms per entry | instantiations per entry |\n| --- | --- | --- | --- |`,
    )
    console.log(`| 0 | ${empty.seconds.toFixed(2)} | | |`)
    for (const count of counts) {
      const { seconds, instantiations } = measure(contractProgram(count, isCalled))
      const each = (instantiations - empty.instantiations) / count
      console.log(`| ${count} | ${seconds.toFixed(2)} | ${(((seconds - empty.seconds) * 1000) / count).toFixed(2)} | ${each.toFixed(0)} |`)
    }
    console.log('')
  }
})
