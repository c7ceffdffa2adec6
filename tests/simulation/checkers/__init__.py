"""What must hold, checked where it may change: each module looks only at what the event before it touched.

`election`: I1 to I6. `logs`: L3, L5, L8, M4, C2 (L1, L2, L7, M1, M2, M5 are checked by the history as batches come). `watermark`: H1 to H4,
L6. `protocol`: C3 to C5. `delivery`: C1, S2, S4. `liveness`: V1 to V8, once faults stop.
"""
