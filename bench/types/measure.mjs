// How long tsc takes for many routes: `node bench/types/measure.mjs [--counts 100,200,400,500] [--runs 5]`. Needs `npm run build`.
//
// The cost of a route is the difference from the program without routes, which only loads weir's types, divided by the number of routes. A test
// holds the number of instantiations.
import { readOptions, withCompiler } from './compile.mjs'
import { routesProgram } from './routes-program.mjs'

const { counts, runs } = readOptions('100,200,400,500')

withCompiler('bench-types', runs, (measure) => {
  const empty = measure(routesProgram(0))
  console.log(`tsc for routes with bodies and answers, the shortest of ${runs} runs\n`)
  console.log('| routes | seconds | ms per route | instantiations per route |\n| --- | --- | --- | --- |')
  console.log(`| 0 | ${empty.seconds.toFixed(2)} | | |`)
  for (const count of counts) {
    const { seconds, instantiations } = measure(routesProgram(count))
    const perRoute = (total) => (total / count).toFixed(total > 10 * count ? 0 : 2)
    console.log(
      `| ${count} | ${seconds.toFixed(2)} | ${perRoute((seconds - empty.seconds) * 1000)} | ${perRoute(instantiations - empty.instantiations)} |`,
    )
  }
})
