import { requestOf, seededNumbers, textExchange } from '../message.mjs'

const VARIANTS = 128
const below = seededNumbers(0xba5e)
const PLAIN = { 'Content-Type': 'text/plain' }

function exchange(number) {
  const [a, b, body] = [below(1000), below(1000), String(below(1000))]
  const target = `/baseline11?a=${a}&b=${b}`
  if (number % 3 === 0) return textExchange(requestOf('GET', target), String(a + b))
  const sum = String(a + b + Number(body))
  if (number % 3 === 1) return textExchange(requestOf('POST', target, PLAIN, body), sum)
  const head = requestOf('POST', target, { ...PLAIN, 'Transfer-Encoding': 'chunked' })
  return textExchange(Buffer.concat([head, Buffer.from(`${body.length}\r\n${body}\r\n0\r\n\r\n`)]), sum)
}

export default {
  id: 'w12a',
  name: 'Sums',
  title:
    'HttpArena baseline: sums of two query values; a third of the requests are GET, a third POST with a number, a third POST with a chunked number',
  app: 'baseline',
  exchanges: Array.from({ length: 3 * VARIANTS }, (_, number) => exchange(number)),
}
