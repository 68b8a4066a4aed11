"""Descriptions of things that are in no dictionary, for trying a model of the WordNet sample on."""

from __future__ import annotations

DESCRIPTIONS = [
    "an aircraft without a pilot that delivers parcels to balconies",
    "a thick soup of roasted pumpkin, oat milk and chili",
    "a small shop that sells nothing but left shoes",
    "a musician who plays the theremin in metro stations",
    "a flowering shrub bred to grow on the roofs of bus stops",
    "a small owl that hunts by the light of street lamps",
    "a stringed instrument that is played with a laser instead of a bow",
    "a card game in which the players collect endangered animals",
    "an alloy of gold and magnesium for the hinges of spectacles",
    "pain in the thumb from typing messages all day",
]
