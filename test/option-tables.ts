// All tables of option rules, of every module and package.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { OptionRules } from '../packages/weirjs/src/base/option-rules.ts'

export type OptionTable = OptionRules<object, Readonly<Record<string, unknown>>>

/** The tables by their names, such as `CORS_RULES`. */
export async function optionTables(): Promise<ReadonlyMap<string, OptionTable>> {
  const tables = new Map<string, OptionTable>()
  const sources = readdirSync('packages', { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^\w+\/src\/.*(?<!\.test)\.ts$/.test(file),
  )
  for (const file of sources) {
    const text = readFileSync(join('packages', file), 'utf8')
    const declared = [...text.matchAll(/^(?:export )?const (\w+) =\s+rules</gm)].map(([, name]) => name!)
    if (declared.length === 0) continue
    const module = (await import(pathToFileURL(join('build/packages', file.replace(/ts$/, 'js'))).href)) as Record<string, unknown>
    for (const name of declared) {
      const table = module[name]
      assert.ok(table instanceof OptionRules, `packages/${file} does not export ${name}: this test could not compare it`)
      assert.ok(!tables.has(name), `two tables of rules are called ${name}`)
      tables.set(name, table as OptionTable)
    }
  }
  return tables
}
