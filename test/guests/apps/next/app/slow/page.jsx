import { connection } from 'next/server'
import { Suspense } from 'react'

async function Late() {
  await connection()
  await new Promise((resolve) => setTimeout(resolve, 500))
  return <p id="late">It came late</p>
}

export default function Slow() {
  return (
    <main>
      <h1>Slow</h1>
      <Suspense fallback={<p id="waiting">Waiting</p>}>
        <Late />
      </Suspense>
    </main>
  )
}
