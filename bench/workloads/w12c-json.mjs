import { COUNTS_AND_FACTORS, firstItems } from '../arena/items.mjs'
import { jsonExchange, requestOf } from '../message.mjs'

const exchangesWith = (fields) =>
  COUNTS_AND_FACTORS.map(([count, m]) => jsonExchange(requestOf('GET', `/json/${count}?m=${m}`, fields), firstItems(count, m)))

const exchanges = exchangesWith({})
const sizes = `${exchanges[0].body.length} to ${exchanges.at(-1).body.length} B`

export default {
  id: 'w12c',
  name: 'JSON lists',
  title: `HttpArena json: 1 to 50 items with a computed field, ${sizes}`,
  app: 'json',
  exchanges,
}

/** Servers do not have to compress smaller responses: most have a limit for that, of 1 KiB or less. */
const ALWAYS_COMPRESSED = 1200

/** w12d. */
export function compressedAs(coding) {
  return {
    id: `w12d-${coding}`,
    name: `JSON lists, ${coding}`,
    title: `HttpArena json-comp: the JSON lists, compressed as ${coding} for every request`,
    app: 'compressed',
    coding,
    isQuick: coding === 'gzip',
    exchanges: exchangesWith({ 'Accept-Encoding': coding }).map((exchange) =>
      exchange.body.length < ALWAYS_COMPRESSED ? exchange : { ...exchange, coding },
    ),
  }
}
