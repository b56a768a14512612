// What each picture cost to load, as measured by the browser.

import { sizeOf } from './size.js'

const gallery = document.querySelector('#gallery')
const pictures = [...gallery.querySelectorAll('img')]
const measured = new Map()

/**
 * If the server confirms that the browser's copy is current, no body is sent. The size is then 0, or that of the copy, which exceeds the
 * transfer.
 */
function wasSent({ transferSize, encodedBodySize }) {
  return encodedBodySize > 0 && transferSize > encodedBodySize
}

function show(entry) {
  const picture = pictures.find(({ src }) => src === entry.name)
  if (!picture) return
  measured.set(picture, entry)
  const coding = entry.contentEncoding ? `, ${entry.contentEncoding}` : '' // not every browser reports it
  const cost = wasSent(entry) ? `${sizeOf(entry.decodedBodySize)} as ${sizeOf(entry.encodedBodySize)}${coding}` : 'not sent again'
  picture.closest('figure').querySelector('.cost').textContent = cost
  if (measured.size === pictures.length) showSum([...measured.values()])
}

function showSum(entries) {
  const sent = entries.filter(wasSent)
  const sum = (name) => sizeOf(sent.reduce((total, entry) => total + entry[name], 0))
  gallery.querySelector('.summary').textContent =
    sent.length === 0
      ? `${entries.length} pictures, none of them sent again.`
      : `${sent.length} pictures of ${sum('decodedBodySize')} were sent as ${sum('encodedBodySize')}.`
}

new PerformanceObserver((list) => list.getEntries().forEach(show)).observe({ type: 'resource', buffered: true })
