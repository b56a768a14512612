import assert from 'node:assert/strict'
import { test } from 'node:test'

import { metadataOfFields, readMetadata } from './upload-metadata.ts'

test('reads pairs of names and values', () => {
  assert.deepEqual(
    [...readMetadata('a YQ==,b, c ,ü'.replace(',ü', ''))!],
    [
      ['a', 'a'],
      ['b', ''],
      ['c', ''],
    ],
  )
  assert.deepEqual([...readMetadata('')!], [])
  assert.deepEqual([...readMetadata('a YQ==,b /w==')!], [['a', 'a']]) // not UTF-8
  assert.deepEqual([...readMetadata('__proto__ YQ==')!], [['__proto__', 'a']])
})

test('refuses what is no list of pairs', () => {
  for (const text of [',', 'a YQ==,', 'a YQ== b', 'a YQ', 'a ====', 'a YQ==,a', 'ü YQ==', 'a\tYQ==', 'a  YQ=='])
    assert.equal(readMetadata(text), null, text)
})

test('reads up to 64 pairs', () => {
  const pairs = Array.from({ length: 65 }, (_, i) => `k${i} YQ==`)
  assert.equal(readMetadata(pairs.slice(1).join(','))?.size, 64)
  assert.equal(readMetadata(pairs.join(',')), null)
})

test('takes the name of a file from Content-Disposition', () => {
  const nameIn = (disposition: string): string | undefined => readMetadata(metadataOfFields(null, disposition))?.get('filename')
  assert.equal(nameIn('inline; filename="a b.txt"'), 'a b.txt')
  assert.equal(nameIn(`attachment; filename=x; filename*=UTF-8''%C3%A9`), 'é')
  assert.equal(nameIn(`attachment; filename=x; filename*=UTF-8''%ff`), 'x')
  for (const disposition of ['inline', 'filename=x', 'inline; filename="x', '; filename=x'])
    assert.equal(nameIn(disposition), undefined, disposition)
  assert.equal(metadataOfFields(null, null), '')
  assert.equal(readMetadata(metadataOfFields('text/plain', null))?.get('filetype'), 'text/plain')
})
