// Writes the TypeScript of the protocol buffers that @weirjs/rpc and its tests use: node scripts/proto.mjs. Needs protoc and the types that
// come with it, which Debian calls protobuf-compiler and libprotobuf-dev.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

process.chdir(join(import.meta.dirname, '..'))

/** The folders of .proto files, and where their code goes. */
const FOLDERS = { 'packages/rpc/proto': 'packages/rpc/src/proto', 'packages/rpc/test/proto': 'packages/rpc/test/proto' }

for (const [from, to] of Object.entries(FOLDERS)) {
  const files = readdirSync(from, { recursive: true }).filter((file) => file.endsWith('.proto'))
  execFileSync('protoc', [
    `--plugin=protoc-gen-es=node_modules/.bin/protoc-gen-es`,
    `--es_out=${to}`,
    '--es_opt=target=ts,import_extension=ts',
    `-I${from}`,
    ...files,
  ])
  for (const file of files) {
    const path = `${to}/${file.replace(/\.proto$/, '_pb.ts')}`
    writeFileSync(path, withoutEnums(readFileSync(path, 'utf8')))
  }
}

/** Node strips types but compiles nothing: an enum becomes an object, and the type of its values. */
function withoutEnums(code) {
  return code.replace(/^export enum (\w+) \{\n([\s\S]*?)^\}\n/gm, (_, name, members) => {
    const values = members.replace(/^( +\w+) = (-?\d+),$/gm, '$1: $2,')
    return `export const ${name} = {\n${values}} as const\n\nexport type ${name} = (typeof ${name})[keyof typeof ${name}]\n`
  })
}
